"""Checks of a config that its schema cannot say: ids that refer to each other, cells, files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from exparity.artefacts.analyses import ANALYSES
from exparity.core.errors import InputError, did_you_mean
from exparity.counterfactuals import check_groups, label_refusal
from exparity.models.catalogue import known_type

if TYPE_CHECKING:
    from exparity.config.experiment import Experiment

# What a block of an override cannot differ by.
_TOO_NARROW = {"training": ("method", "metric"), "method": ("metric",)}

# Options of datasets that decide on their groups.
_GROUP_OPTIONS = {"attribute", "groups"}


def check_references(experiment: Experiment) -> None:
    """Check that ids in ``models`` and ``overrides`` exist, and that overrides can be kept.

    Raises:
        InputError: names the key and the nearest ids.
    """
    known: dict[str, list[Any]] = {
        "dataset": list(experiment.datasets),
        "model": list(experiment.models),
        "seed": experiment.seeds,
        "method": list(experiment.methods),
        "metric": list(experiment.metrics),
    }
    for empty, other in (("methods", "metrics"), ("metrics", "methods")):
        if not known[empty[:-1]] and known[other[:-1]]:
            raise InputError(
                f"{empty}: none, but there are {other}; name both, or leave both empty to train "
                "and measure classifiers without explaining them"
            )
    for model, settings in experiment.models.items():
        for dataset in settings.get("datasets", []):
            _require(dataset, known["dataset"], f"models.{model}.datasets")
    for position, override in enumerate(experiment.overrides):
        where = f"overrides[{position}]"
        for key, wanted in override["match"].items():
            for value in wanted if isinstance(wanted, list) else [wanted]:
                _require(value, known[key], f"{where}.match.{key}")
        if "family" in override.get("statistics", {}):
            raise InputError(
                f"{where}.statistics.family: there is one for the whole report; set it under "
                "statistics"
            )
        for block, too_narrow in _TOO_NARROW.items():
            for key in too_narrow:
                if block in override and key in override["match"]:
                    raise InputError(
                        f"{where}: '{block}' cannot differ by {key}; remove '{key}' from match"
                    )


def check_rationales(experiment: Experiment) -> None:
    """Check that every dataset has what metrics compare explanations with.

    Raises:
        InputError: names the metric, the dataset and the remedy.
    """
    comparing = experiment.metrics_that_need("rationale")
    for id, dataset in experiment.datasets.items() if comparing else ():
        if dataset.entry.facts.marks_words(dataset.params):
            continue
        option = dataset.entry.facts.rationale_option
        remedy = f"name their column with datasets.{id}.{option}, or run" if option else "run"
        raise InputError(
            f"metrics.{comparing[0]}: compares explanations with rationales, and dataset '{id}' "
            f"has none; {remedy} it in a config without {', '.join(comparing)}"
        )


def check_counterfactuals(experiment: Experiment) -> None:
    """Check that generators fit their datasets, and that interventions have those they need.

    Raises:
        InputError: names the key and the remedy.
    """
    for dataset, generator in experiment.generators.items():
        where = f"counterfactuals.{dataset}"
        _require(dataset, list(experiment.datasets), where)
        instance = experiment.datasets[dataset]
        facts = instance.entry.facts
        # Groups that options decide on are known once the data are read.
        groups = () if _GROUP_OPTIONS & instance.params.keys() else facts.groups
        if groups:
            check_groups(generator.entry.id, generator.params, groups, where)
        if facts.group_decides_label:
            raise InputError(label_refusal(dataset, f"as '{instance.entry.id}' has it"))
    for dataset, model in experiment.pairs:
        for one in experiment.interventions[model]:
            if one.entry.facts.needs_counterfactuals and dataset not in experiment.generators:
                raise InputError(
                    f"models.{model}.debias: '{one.id}' needs counterfactuals, and dataset "
                    f"'{dataset}' has no generator; name one, counterfactuals.{dataset}, or leave "
                    f"the dataset out of models.{model}.datasets"
                )


def check_changed_words(experiment: Experiment) -> None:
    """Check that every dataset has counterfactuals where a metric asks which words they change.

    Raises:
        InputError: names the metric, the dataset and the remedy.
    """
    metrics = experiment.metrics_that_need("counterfactual")
    for dataset in experiment.datasets if metrics else ():
        if dataset not in experiment.generators:
            raise InputError(
                f"metrics.{metrics[0]}: measures attribution on words that counterfactuals change, "
                f"and dataset '{dataset}' has no generator; name one, counterfactuals.{dataset}, "
                f"or run it in a config without {', '.join(metrics)}"
            )


def check_cells(experiment: Experiment) -> None:
    """Resolve every distinct cell once, so that bad settings are found before any job.

    Raises:
        InputError: a file or folder that is not there, or an override with a bad setting.
    """
    from exparity.models.checkpoints import check_checkpoint

    for dataset in experiment.datasets:
        experiment.prepare_inputs(dataset)
    for model in experiment.models:
        spec = experiment.model_spec(model)
        if spec.checkpoint is not None:
            try:
                check_checkpoint(spec.checkpoint)
            except InputError as error:
                raise InputError(f"models.{model}: {error}") from None
    for dataset, model in experiment.pairs:
        for seed in experiment.seeds:
            experiment.finetune_options(dataset, model, seed)
    if any("method" in override or "metric" in override for override in experiment.overrides):
        for cell in experiment.cells():
            key: dict[str, Any] = dict(cell)
            experiment.evaluate_options(**key)
            del key["metric"]
            experiment.explain_options(**key)


def cautions(experiment: Experiment) -> list[str]:
    """Return what a plan has to warn of.

    These are methods whose scores say nothing of some models, and what analyses leave out.
    """
    messages: dict[str, None] = {}
    for dataset, model in experiment.pairs:
        model_type = known_type(experiment.model_spec(model))
        for id, method in experiment.methods.items():
            caution = method.entry.facts.caution
            for seed in experiment.seeds if caution and model_type else ():
                resolved = json.loads(experiment.explain_options(dataset, model, seed, id))
                if message := caution(resolved["params"], model_type):
                    messages[f"methods.{id}, models.{model}: {message}"] = None
    for name, settings in experiment.analyses.settings.items():
        of_analysis = ANALYSES.get(name).facts.caution
        if of_analysis and (message := of_analysis(experiment, **settings)):
            messages[f"analyses.{name}: {message}"] = None
    return list(messages)


def _require(value: Any, known: list[Any], where: str) -> None:
    if value not in known:
        raise InputError(f"{where}: no '{value}' here; {did_you_mean(str(value), map(str, known))}")
