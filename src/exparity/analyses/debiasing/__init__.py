"""Analysis debiasing: does debiasing a classifier change the gaps of its explanations?

Models that differ from a base in ``debias`` alone are compared with it, training by training and
over all trainings: |d| of every method and metric, in the scores, in excess over random
explanations and in skill.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from exparity.analyses import ExperimentView, StageResult, Table, analysis
from exparity.analyses.debiasing._changes import rows_of_changes
from exparity.analyses.debiasing.section import findings
from exparity.artefacts.files import read_tables
from exparity.core.errors import InputError, did_you_mean
from exparity.core.flags import Id
from exparity.core.formats import dotted
from exparity.core.settings import Statistics
from exparity.stages.cell import compared_in
from exparity.stages.compare import read_scores
from exparity.stats.gap_change import GapChange

_OF_DEBIASING = ("debias", "counterfactuals")
"""Options that a training depends on through its interventions alone."""
_OPTIONS = ("alpha", "threshold", "ddof", "confidence")


def _job_options(
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


def _caution(experiment: ExperimentView, *, base: str = "") -> str | None:
    """Return which models are left out, and why, in one line; None if none is."""
    reasons = _differences(experiment, base).items()
    unfit = [f"{model} ({why})" for model, why in reasons if why]
    return f"not compared with '{base}': {', '.join(unfit)}" if unfit else None


@analysis(
    "debiasing",
    level="dataset",
    reads=("scores", "random_scores", "removal_limits", "bias"),
    writes={
        "debiasing": Table(
            "base quantity: string",
            "seed: int64?",
            GapChange,
            keys=("model", "method", "metric", "group_a", "group_b", "quantity"),
            ids=("model", "method", "metric"),
        )
    },
    display="Debiasing and explanations",
    memory_mb=4000,
    job_options=_job_options,
    caution=_caution,
    section=findings,
)
def debiasing_cell(
    scores: Sequence[Path],
    random_scores: Sequence[Path] | None,
    removal_limits: Sequence[Path] | None,
    bias: Sequence[Path],
    *,
    base: Id,
    recipes: Sequence[Id],
    alpha: float = Statistics.alpha,
    threshold: float = Statistics.threshold,
    ddof: int = Statistics.ddof,
    confidence: float = Statistics.confidence,
) -> StageResult:
    """Compare the gaps of debiased models with those of the model without debiasing.

    Trainings whose classifier predicts one class, by recipe or base, are left out.

    Args:
        scores: scores artefacts of one dataset; one per model, seed, method and metric.
        random_scores: scores of random explanations by the same metrics; none without the control.
        removal_limits: removal_limits artefacts of the dataset, for the skill of explanations; none
            without the control.
        bias: bias artefacts, one per model, which say who predicts one class.
        base: the model without debiasing.
        recipes: the debiased models.
        alpha: level of the test whose minimal detectable effect is wanted.
        threshold: change of |d| from which it is considerable.
        ddof: degrees of freedom taken off in the variances of d.
        confidence: coverage of the intervals.

    Raises:
        InputError: a file is damaged or of another dataset than the first, recipe and base were
            scored otherwise, or an option is out of range.
    """
    collapsed = {
        (str(row["model"]), int(row["seed"]))
        for row in read_tables(bias, "bias").to_pylist()
        if "collapsed" in row["flags"]
    }
    options = {"alpha": alpha, "threshold": threshold, "ddof": ddof, "confidence": confidence}
    every = read_scores(scores, random_scores, removal_limits, [base, *recipes])
    rows = [r for one in recipes for r in rows_of_changes(every, base, one, collapsed, options)]
    ids = {"dataset": every.metadata["wildcards"]["dataset"]}
    return StageResult(rows, ids, compared_in(every.metadata))


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
        options = [experiment.finetune_options(dataset, m, seed) for m in (model, base)]
        if options[0].get("debias") == options[1].get("debias"):
            return "has the same debias"
        own, of_base = (dict(dotted(of_model)) for of_model in options)
        changed = (k for k in own | of_base if own.get(k) != of_base.get(k))
        differ |= dict.fromkeys(k for k in changed if k.partition(".")[0] not in _OF_DEBIASING)
    return f"differs in {', '.join(differ)}" if differ else ""
