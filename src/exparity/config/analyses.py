"""The analyses of a config: where each one applies, and what its jobs depend on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exparity.artefacts import layout
from exparity.config import digests
from exparity.config.instances import canonical
from exparity.core.errors import InputError, did_you_mean
from exparity.data import has_rationales
from exparity.models.spec import ModelSpec

if TYPE_CHECKING:
    from exparity.config.experiment import Experiment

Target = tuple[str, ...]
"""A dataset, or a dataset and a model."""


class Analyses:
    """What a config asks for beside the grid of tests.

    Args:
        experiment: the experiment.
    """

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self.settings: dict[str, Mapping[str, Any]] = {
            name: settings or {} for name, settings in experiment.config["analyses"].items()
        }
        self.metrics = [
            id for id, m in experiment.metrics.items() if m.entry.facts.needs == "rationale"
        ]

    def check(self) -> None:
        """Check that every analysis has something to work with.

        Raises:
            InputError: names the key and the remedy.
        """
        if "correctness" in self.settings and not self.metrics:
            raise InputError(
                "analyses.correctness: no metric compares explanations with rationales; add one "
                "to metrics, such as mass_accuracy"
            )
        for name in self.settings:
            if name == "mlm_score":
                self._check_models()
            if not self.targets(name):
                raise InputError(
                    f"analyses.{name}: no dataset marks the words that carry the label; leave it "
                    "out"
                )
        known = self._experiment.datasets
        for dataset, terms in self._terms.items():
            where = f"analyses.dataset_bias.terms.{dataset}"
            if dataset not in known:
                raise InputError(f"{where}: no such dataset here; {did_you_mean(dataset, known)}")
            groups = known[dataset].entry.facts.groups
            for group in terms if groups else ():
                if group not in groups:
                    raise InputError(f"{where}: no group '{group}'; {did_you_mean(group, groups)}")

    def targets(self, name: str) -> list[Target]:
        """Return the datasets, or pairs of dataset and model, that an analysis applies to."""
        experiment = self._experiment
        if name not in self.settings:
            return []
        if name == "dataset_bias":
            return [(dataset,) for dataset in experiment.datasets]
        models = self._masked_models() if name == "mlm_score" else list(experiment.models)
        return [
            (dataset, model)
            for dataset, model in experiment.pairs
            if model in models and self._marked(dataset)
        ]

    def files(self) -> list[str]:
        """Return the artefacts of all analyses."""
        grid, results = self._experiment.grid(), self._experiment.results
        return [
            f"{results}/{layout.path_of(artefact, ids)}"
            for artefact in layout.ANALYSES.values()
            for ids in layout.cells(grid, artefact)
        ]

    def options(self, name: str, dataset: str, model: str = "") -> str:
        """Return what a job of an analysis depends on, as canonical JSON."""
        settings: dict[str, Any] = dict(self.settings.get(name, {}))
        if name == "dataset_bias":
            settings = {"terms": self._terms_of(dataset)}
        elif name == "mlm_score":
            spec = self._experiment.model_spec(model)
            settings.pop("models", None)
            settings |= {"original": spec.checkpoint, "revision": spec.revision}
        return canonical({"settings": settings, "digest": digests.analysis(name)})

    def _marked(self, dataset: str) -> bool:
        instance = self._experiment.datasets[dataset]
        return has_rationales(instance.entry.id, instance.params)

    @property
    def _terms(self) -> Mapping[str, Mapping[str, Any]]:
        terms: Mapping[str, Any] = self.settings.get("dataset_bias", {}).get("terms", {})
        return terms

    def _terms_of(self, dataset: str) -> dict[str, list[list[str]]]:
        """Return the words that name each group, by form; none where nobody says."""
        facts = self._experiment.datasets[dataset].entry.facts
        terms = self._terms.get(dataset, facts.group_terms)
        return {
            group: [[form] if isinstance(form, str) else list(form) for form in forms]
            for group, forms in terms.items()
        }

    def _masked_models(self) -> list[str]:
        """Return the models whose original head is asked: those named, or all pretrained ones."""
        experiment = self._experiment
        named = self.settings["mlm_score"].get("models")
        if named is not None:
            return list(named)
        return [m for m in experiment.models if experiment.model_spec(m).init == "pretrained"]

    def _check_models(self) -> None:
        models = self._masked_models()
        if not models:
            raise InputError(
                "analyses.mlm_score: no model starts from a pretrained checkpoint; leave it out"
            )
        for model in models:
            where = "analyses.mlm_score.models"
            if model not in self._experiment.models:
                hint = did_you_mean(model, self._experiment.models)
                raise InputError(f"{where}: no '{model}' here; {hint}")
            spec = self._experiment.model_spec(model)
            if spec.init != "pretrained":
                raise InputError(f"{where}: '{model}' starts from scratch, so it has no such head")
            if not _may_have_head(spec):
                raise InputError(
                    f"analyses.mlm_score: checkpoint {spec.checkpoint} of model '{model}' has no "
                    f"masked-language-model head; name the other models in {where}"
                )


def _may_have_head(spec: ModelSpec) -> bool:
    """Tell from a local folder whether it holds a masked language model; the Hub is not asked."""
    path = Path(spec.checkpoint or "") / "config.json"
    if not path.is_file():
        return True
    try:
        named = json.loads(path.read_text(encoding="utf-8")).get("architectures") or []
    except (OSError, ValueError):
        return True  # whoever loads it will say what is wrong
    return any(name.endswith(("ForMaskedLM", "ForPreTraining")) for name in named)
