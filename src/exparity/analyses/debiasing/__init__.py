"""Analysis debiasing: does debiasing a classifier change the gaps of its explanations?

Models that differ from a base in ``debias`` alone are compared with it, training by training and
over all trainings: |d| of every method and metric, in the scores, in excess over random
explanations and in skill, beside accuracy and the statistical and the causal gap of the classifier.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from exparity.analyses import Made, analysis, fields
from exparity.analyses.debiasing._changes import RecipeComparison
from exparity.analyses.debiasing._recipes import Gap, caution, settle
from exparity.analyses.debiasing._scored import Scored
from exparity.analyses.debiasing.section import findings
from exparity.artefacts.columns import record_columns
from exparity.core.errors import InputError
from exparity.core.flags import Id
from exparity.core.settings import Statistics
from exparity.stages.cell import compared_in
from exparity.stats.gap_change import GapChange

_OF_CLASSIFIER = ("random_change", "accuracy", "base_accuracy", "statistical_gap",
                  "base_statistical_gap", "causal_gap", "base_causal_gap")  # fmt: skip


@analysis(
    "debiasing",
    level="dataset",
    reads=("scores", "random_scores", "removal_limits", "bias"),
    artefact="debiasing",
    columns=fields(
        ("base", pa.string()),
        ("quantity", pa.string()),
        ("seed", pa.int64(), True),
        *record_columns(GapChange).items(),
        *((name, pa.float64()) for name in _OF_CLASSIFIER),
    ),
    keys=("model", "method", "metric", "group_a", "group_b", "quantity"),
    ids=("model", "method", "metric"),
    display="Debiasing and explanations",
    memory_mb=4000,
    settle=settle,
    caution=caution,
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
    gap: Gap = "tpr",
    alpha: float = Statistics.alpha,
    threshold: float = Statistics.threshold,
    ddof: int = Statistics.ddof,
    confidence: float = Statistics.confidence,
) -> Made:
    """Compare the gaps of debiased models with those of the model without debiasing.

    Trainings whose classifier predicts one class, by recipe or base, are left out.

    Args:
        scores: scores artefacts of one dataset; one per model, seed, method and metric.
        random_scores: scores of random explanations by the same metrics; none without the control.
        removal_limits: removal_limits artefacts of the dataset, for the skill of explanations; none
            without the control.
        bias: bias artefacts, one per model.
        base: the model without debiasing.
        recipes: the debiased models.
        gap: rate whose gaps stand for the classifier's bias: their root mean square over classes.
        alpha: level of the test whose minimal detectable effect is wanted.
        threshold: change of |d| from which it is considerable.
        ddof: degrees of freedom taken off in the variances of d.
        confidence: coverage of the intervals.

    Raises:
        InputError: a file does not hold what was written, is of another dataset than the first, of
            the same cell as another, or scored otherwise by recipe and base; or an option is out of
            range.
    """
    scored = Scored([base, *recipes], removal_limits or ())
    for add, paths in (
        (scored.add_bias, bias),
        (scored.add_random, random_scores or ()),
        (scored.add, scores),
    ):
        for path in paths:
            add(path)
    options = {"alpha": alpha, "threshold": threshold, "ddof": ddof, "confidence": confidence}
    comparison = RecipeComparison(scored, base, gap, options)
    rows: list[Mapping[str, Any]] = [row for recipe in recipes for row in comparison.rows(recipe)]
    if not rows:
        raise InputError(f"debiasing: no scores of {base} and of a recipe for the same training")
    return Made(
        rows,
        {"dataset": scored.facts["wildcards"]["dataset"]},
        compared_in(scored.facts),
    )
