"""A config with every entry resolved, and the options of every job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from exparity.artefacts import layout
from exparity.artefacts.analyses import Options
from exparity.artefacts.grid import Grid
from exparity.artefacts.ids import Ids
from exparity.config import digests
from exparity.config.instances import (
    Instance,
    KindFacts,
    instances_of,
    lacks_of,
    left_out,
    named_instance,
)
from exparity.config.models import NOT_OF_SPEC, Config, Model
from exparity.config.presets import matches, training_of_preset
from exparity.core.errors import InputError, did_you_mean
from exparity.core.registry import load_plugin
from exparity.core.strict import canonical
from exparity.core.validation import read_settings
from exparity.counterfactuals import GENERATORS
from exparity.data import DATASETS
from exparity.debiasing import INTERVENTIONS, InterventionFacts
from exparity.debiasing.recipes import calls_of
from exparity.methods import METHODS
from exparity.metrics import METRICS
from exparity.models.catalogue import known_id, known_models, resolve_model
from exparity.models.folders import own_sources
from exparity.models.heads import HEADS
from exparity.models.prompts import PromptSpec
from exparity.models.spec import ModelSpec, TrainingSpec, merge_training
from exparity.types import Facts

Cell = Mapping[str, str | int]
"""Ids as the workflow has them."""


@dataclass(frozen=True)
class ResolvedModel:
    """A model of the config, with the settings of the known model that it starts from.

    Attributes:
        spec: what it is.
        known_id: id of the known model; None for one of the user's own.
        training: the settings of its training that differ from those of all models.
        interventions: changes of its training data, in order.
        datasets: those that it is trained on; all if None.
    """

    spec: ModelSpec
    known_id: str | None
    training: Mapping[str, object]
    interventions: Sequence[Instance[InterventionFacts]]
    datasets: Sequence[str] | None


class ResolvedConfig:
    """The entries of a config with all defaults, and the options of every cell of its grid."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.results = config.results
        for plugin in config.plugins:
            load_plugin(plugin)
        self.datasets = instances_of("datasets", DATASETS, config)
        self.methods = instances_of("methods", METHODS, config)
        self.metrics = instances_of("metrics", METRICS, config)
        entries = {model: entry or Model() for model, entry in config.models.items()}
        self.models = {
            model: _resolved_model(model, entry, config.encoder) for model, entry in entries.items()
        }
        self.generators = {
            dataset: named_instance(
                GENERATORS,
                written if isinstance(written, str) else written.set_values,
                f"counterfactuals.{dataset}",
            )
            for dataset, written in config.counterfactuals.items()
        }
        self.seeds: list[int] = list(config.seeds)
        self.overrides: list[Options] = [o.set_values for o in config.overrides]
        self._memo: dict[tuple[str, str], Options] = {}

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """Every (dataset, model) that is trained."""
        return [
            (dataset, model)
            for dataset in self.datasets
            for model, settings in self.models.items()
            if settings.datasets is None or dataset in settings.datasets
        ]

    def cells(self, artefact: str) -> Iterator[Ids]:
        """Yield the ids of every file of an artefact of the grid."""
        return layout.cells(self.axes, artefact)

    def tests(self) -> Iterator[Ids]:
        """Yield the ids of the scores whose groups are compared."""
        cells = self.cells("scores")
        return (cell for cell in cells if "groups" not in self.lacks[cell.dataset])

    def metrics_that_need(self, needs: str, dataset: str | None = None) -> list[str]:
        """Return the metrics that compute with something, such as ``rationale``.

        Of a ``dataset``, those that apply to it.
        """
        facts = {name: metric.entry.facts for name, metric in self.metrics.items()}
        names = facts if dataset is None else self.applying("metrics", dataset)
        return [name for name in names if needs in (facts[name].needs, facts[name].skill)]

    @cached_property
    def unmeasured(self) -> dict[str, list[str]]:
        """The metrics that explain again, by the methods that cannot."""
        metrics = self.metrics_that_need("explainer")
        return {
            name: metrics
            for name, method in self.methods.items()
            if metrics and not method.entry.facts.repeatable
        }

    @cached_property
    def lacks(self) -> Mapping[str, Mapping[str, str]]:
        """Lacks of each dataset, by the need of a method, metric or analysis."""
        return {
            dataset: lacks_of(instance, has_generator=dataset in self.generators)
            for dataset, instance in self.datasets.items()
        }

    def applying(self, kind: str, dataset: str) -> list[str]:
        """Return the methods or metrics that a dataset is explained with or scored by."""
        return self.axes.applying(kind, dataset)

    def runs_model(self, metric: str) -> bool:
        """Return whether a metric runs the model, and so needs its checkpoint and a GPU."""
        return bool(self.metrics[metric].entry.facts.runs_model)

    @cached_property
    def axes(self) -> Grid:
        """The grid without its analyses, which depend on it."""
        return Grid(
            pairs=self.pairs,
            seeds=self.seeds,
            methods=_registered(self.methods),
            metrics=_registered(self.metrics),
            left_out=left_out(self.datasets, self.methods, self.metrics, self.lacks),
            unmeasured=self.unmeasured,
            title=self.config.title,
            datasets=_registered(self.datasets),
            models={model: settings.known_id for model, settings in self.models.items()},
            study=self.config.study,
            statistics=self.config.statistics,
            controls=self.config.controls,
            report=self.config.report,
        )

    def prepare_options(self, dataset: str) -> Options:
        """Return what the data artefact depends on: not what raters marked."""
        instance = self.datasets[dataset]
        return {**instance.call(f"datasets.{dataset}", without=instance.entry.facts.rater_option)}

    def own_inputs(self, stage: str, ids: Cell) -> list[str]:
        """Return the user's own files that a job reads, or the checkpoint that it starts from."""
        if stage == "finetune":
            return own_sources(self.models[Ids(ids).model].spec)
        if stage not in ("prepare", "explain"):
            return []
        kind = "dataset" if stage == "prepare" else "method"
        instance = self._instance(kind, ids)
        # Most have none; a large grid asks for each cell.
        if not getattr(instance.entry.facts, "path_options", ()):
            return []
        params = getattr(self, f"{stage}_options")(**ids)["params"]
        return [str(p) for p in instance.entry.input_files(params, f"{kind}s.{instance.id}")]

    def training(self, dataset: str, model: str, seed: int) -> TrainingSpec:
        """Return how a model is trained."""
        cell: Cell = {"dataset": dataset, "model": model, "seed": seed}
        registered = self.datasets[dataset].entry.id
        training = merge_training(
            *training_of_preset(self.config.study, registered, self.models[model].known_id),
            self.config.training.set_values,
            self.models[model].training,
            *self._blocks("training", cell),
        )
        if self.models[model].spec.predict is not None:
            training = {"epochs": 0}
        return read_settings(TrainingSpec, training, f"models.{model}.training")

    def training_of(self, ids: Cell) -> TrainingSpec:
        """Return how the model of a cell is trained."""
        cell = Ids(ids)
        return self.training(cell.dataset, cell.model, cell.seed)

    def finetune_options(self, dataset: str, model: str, seed: int) -> Options:
        """Return what a checkpoint depends on."""
        spec = self.models[model].spec
        training = self.training(dataset, model, seed)
        head = HEADS.get(spec.head)
        options = {
            "model": spec.all_values,
            "training": training.all_values,
            "digest": digests.finetune(head.source),
            **self._interventions(dataset, model),
        }
        if head.facts.prompted:
            settings = self.config.prompts[dataset].all_values
            templates = settings.pop("templates")
            prompt = {**settings, "template": templates[seed], "chat": spec.chat}
            options["prompt"] = read_settings(PromptSpec, prompt, f"prompts.{dataset}").all_values
            if training.templates:
                options["templates"] = [templates[number] for number in training.templates]
        return options

    def _interventions(self, dataset: str, model: str) -> dict[str, object]:
        """Return the interventions in a training, and their generator of counterfactuals."""
        interventions = self.models[model].interventions
        if not interventions:
            return {}
        where = f"models.{model}.debias"
        calls: dict[str, object] = {"debias": [i.call_with_files(where) for i in interventions]}
        if any(i.entry.facts.needs_counterfactuals for i in interventions):
            generator = self.generators[dataset]
            calls["counterfactuals"] = generator.call_with_files(f"counterfactuals.{dataset}")
        return calls

    def explain_options(self, **cell: str | int) -> Options:
        """Return what explanations depend on."""
        shared = {"target": self.config.target, "examples": self.config.examples}
        return self._resolved("method", cell, {**shared, "precision": self._precision(cell)})

    def evaluate_options(self, **cell: str | int) -> Options:
        """Return what scores depend on; without a method, those of random explanations."""
        runs = self.runs_model(Ids(cell).metric)
        return self._resolved("metric", cell, {"precision": self._precision(cell)} if runs else {})

    def most_explained(self, ids: Cell) -> int | None:
        """Return the largest sample of test texts that a method explains; None if one takes all."""
        cell = Ids(ids).without("metric")
        largest: int | None = None
        for method in self.applying("methods", cell.dataset):
            changes = self._changes("method", {**cell, "method": method})
            size: int | None = changes.get("max_examples", self.methods[method].max_examples)
            if size is None:
                return None
            largest = max(size, largest or 0)
        return largest

    def _instance(self, kind: str, cell: Cell) -> Instance[Facts]:
        instance: Instance[Facts] = getattr(self, f"{kind}s")[str(cell[kind])]
        return instance

    def _precision(self, cell: Cell) -> str:
        """Return the arithmetic of a job, by the facts of its method and metric."""
        ids = Ids(cell)
        metric = self.metrics[ids.metric].entry.facts if "metric" in ids else None
        gradients = metric is not None and metric.needs_gradient
        if "method" in ids and (metric is None or metric.needs == "explainer"):
            gradients = gradients or self.methods[ids.method].entry.facts.needs_gradient
        return self.config.gradient_precision if gradients else self.config.precision

    def _resolved(self, kind: str, cell: Cell, shared: Mapping[str, str]) -> Options:
        """Resolve a method or metric once per set of overrides: a grid asks thousands of times."""
        instance = self._instance(kind, cell)
        changes = self._changes(kind, cell)
        if kind == "method":
            places = Ids(cell).only("dataset", "model", "seed")
            changes = {**changes, **instance.paths_in(places, changes)}
        where = f"{kind}s.{instance.id}"
        key = (where, canonical({**changes, "shared": shared}))
        if key not in self._memo:
            sample = {"max_examples": changes.pop("max_examples", instance.max_examples)}
            self._memo[key] = {**instance.call(where, changes), **sample, **shared}
        return {**self._memo[key]}

    def _changes(self, block: str, cell: Cell) -> Options:
        """Merge the overrides of one block that match a cell."""
        return {key: value for b in self._blocks(block, cell) for key, value in b.items()}

    def _blocks(self, block: str, cell: Cell) -> list[Options]:
        """Return one block of every override that matches a cell, later ones last."""
        return [o[block] for o in self.overrides if block in o and matches(o["match"], cell)]


def _registered(instances: Mapping[str, Instance[KindFacts]]) -> dict[str, str]:
    """Return the registered id of each instance, by its own."""
    return {name: instance.entry.id for name, instance in instances.items()}


def _resolved_model(model: str, entry: Model, encoder: str | None) -> ResolvedModel:
    where = f"models.{model}"
    settings = resolve_model(model, entry.set_values, where, encoder)
    spec = _spec_of(model, settings)
    place = f"{where}.debias"
    calls = calls_of(settings.get("debias", []), place)
    return ResolvedModel(
        spec=spec,
        known_id=known_id(model, entry.use),
        training=settings.get("training") or {},
        interventions=[named_instance(INTERVENTIONS, call, place) for call in calls],
        datasets=settings.get("datasets"),
    )


def _spec_of(model: str, settings: Mapping[str, object]) -> ModelSpec:
    spec_settings = {key: value for key, value in settings.items() if key not in NOT_OF_SPEC}
    try:
        spec = read_settings(ModelSpec, spec_settings, f"models.{model}")
    except InputError as error:
        if {"checkpoint", "architecture"} & spec_settings.keys():
            raise
        hint = did_you_mean(model, known_models())
        raise InputError(f"{error}; or the id of a known model ({hint})") from None
    HEADS.get(spec.head, f"models.{model}.head")
    return spec
