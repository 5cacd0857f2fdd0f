"""Recipes of debiasing: the models that differ from the base in ``debias`` alone."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from exparity.analyses import ExperimentView
from exparity.core.errors import InputError, did_you_mean
from exparity.core.formats import dotted

_OF_DEBIASING = ("debias", "counterfactuals")
"""Options that a training depends on through its interventions alone."""
_OPTIONS = ("alpha", "threshold", "ddof", "confidence")


def job_options(
    experiment: ExperimentView,
    ids: Mapping[str, Any],
    *,
    base: str = "",
) -> dict[str, Any] | None:
    """Find the recipes of a dataset, and take the options from how groups are compared."""
    where = "analyses.debiasing"
    if base not in experiment.models:
        hint = did_you_mean(base, experiment.models)
        raise InputError(f"{where}.base: no model '{base}' here; {hint}")
    fitting = [model for model, why in _differences(experiment, base).items() if not why]
    if not fitting:
        raise InputError(
            f"{where}: no model differs from '{base}' in debias alone; add one, models.{base}_cda: "
            f"the settings of {base} and `debias: cda`"
        )
    dataset = ids["dataset"]
    there = [model for model in fitting if (dataset, model) in experiment.pairs]
    if (dataset, base) not in experiment.pairs or not there:
        return None
    options = experiment.config.statistics.model_dump(include={*_OPTIONS})
    return {"base": base, "recipes": there, **options}


def caution(experiment: ExperimentView, *, base: str = "") -> str | None:
    """Return which models are left out, and why, in one line; None if none is."""
    reasons = _differences(experiment, base).items()
    unfit = [f"{model} ({why})" for model, why in reasons if why]
    return f"not compared with '{base}': {', '.join(unfit)}" if unfit else None


def _differences(experiment: ExperimentView, base: str) -> dict[str, str]:
    """Return the differences of each other model from the base beside ``debias``, in words."""
    others = (model for model in experiment.models if model != base)
    return {model: _difference(experiment, base, model) for model in others}


def _difference(experiment: ExperimentView, base: str, model: str) -> str:
    pairs = experiment.pairs
    datasets = [dataset for dataset, m in pairs if m == model and (dataset, base) in pairs]
    if not datasets:
        return f"shares no dataset with {base}"
    differ: dict[str, None] = {}
    for dataset, seed in product(datasets, experiment.seeds):
        own, of_base = (_training_options(experiment, dataset, m, seed) for m in (model, base))
        if own.pop("debias") == of_base.pop("debias"):
            return "has the same debias"
        differ |= dict.fromkeys(k for k in own | of_base if own.get(k) != of_base.get(k))
    return f"differs in {', '.join(differ)}" if differ else ""


def _training_options(
    experiment: ExperimentView, dataset: str, model: str, seed: int
) -> dict[str, Any]:
    """Return what a checkpoint depends on, by dotted key; its interventions are ``debias``."""
    options = experiment.finetune_options(dataset, model, seed)
    debias = [options.pop(name, None) for name in _OF_DEBIASING]
    return {**dict(dotted(options)), "debias": debias[0]}
