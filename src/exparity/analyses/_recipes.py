"""Which models of an experiment differ from another one in debiasing alone."""

from __future__ import annotations

from itertools import product

from exparity.analyses import ExperimentView
from exparity.core.formats import dotted

_OF_DEBIASING = ("debias", "counterfactuals")
"""Options that a training depends on through its interventions alone."""


def differences(experiment: ExperimentView, base: str) -> dict[str, str]:
    """Return the differences of each other model from the base beside ``debias``, in words."""
    others = (model for model in experiment.models if model != base)
    return {model: _difference(experiment, base, model) for model in others}


def recipes_of(experiment: ExperimentView, dataset: str) -> dict[str, list[str]]:
    """Return the debiased models on a dataset by the model that has all else alike."""
    models = [model for at, model in experiment.pairs if at == dataset]
    recipes = {}
    for base in models:
        if not _is_debiased(experiment, dataset, base):
            difference_of = differences(experiment, base)
            alike = [model for model in models if model != base and not difference_of[model]]
            if alike:
                recipes[base] = alike
    return recipes


def _is_debiased(experiment: ExperimentView, dataset: str, model: str) -> bool:
    seed = experiment.seeds[0]
    return bool(experiment.finetune_options(dataset, model, seed).get("debias"))


def _difference(experiment: ExperimentView, base: str, model: str) -> str:
    pairs = experiment.pairs
    datasets = [dataset for dataset, m in pairs if m == model and (dataset, base) in pairs]
    if not datasets:
        return f"shares no dataset with {base}"
    differ: dict[str, None] = {}
    for dataset, seed in product(datasets, experiment.seeds):
        options = experiment.finetune_options(dataset, model, seed)
        base_options = experiment.finetune_options(dataset, base, seed)
        if options.get("debias") == base_options.get("debias"):
            return "has the same debias"
        values = dict(dotted(options))
        base_values = dict(dotted(base_options))
        changed = (k for k in values | base_values if values.get(k) != base_values.get(k))
        differ |= dict.fromkeys(k for k in changed if k.partition(".")[0] not in _OF_DEBIASING)
    return f"differs in {', '.join(differ)}" if differ else ""
