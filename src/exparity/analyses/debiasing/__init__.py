"""Analysis debiasing: does debiasing a classifier change the gaps of its explanations?

Models that differ from a base in ``debias`` alone are compared with it, training by training and
over all trainings: |d| of every method and metric, in the scores, in excess over random
explanations and in skill.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from exparity.analyses import StageResult, Table, analysis, fields
from exparity.analyses.debiasing._changes import Scores, rows_of_changes
from exparity.analyses.debiasing._recipes import caution, job_options
from exparity.analyses.debiasing.section import findings
from exparity.artefacts.columns import record_columns
from exparity.artefacts.files import read_tables
from exparity.core.flags import Id
from exparity.core.settings import Statistics
from exparity.stages.cell import compared_in
from exparity.stats.gap_change import GapChange


@analysis(
    "debiasing",
    level="dataset",
    reads=("scores", "random_scores", "removal_limits", "bias"),
    writes={
        "debiasing": Table(
            fields(
                ("base", pa.string()),
                ("quantity", pa.string()),
                ("seed", pa.int64(), True),
                *record_columns(GapChange).items(),
            ),
            keys=("model", "method", "metric", "group_a", "group_b", "quantity"),
            ids=("model", "method", "metric"),
        )
    },
    display="Debiasing and explanations",
    memory_mb=4000,
    job_options=job_options,
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
    every = Scores([base, *recipes], scores, random_scores or (), removal_limits or ())
    rows = [
        row
        for recipe in recipes
        for row in rows_of_changes(every, base, recipe, collapsed, options)
    ]
    ids = {"dataset": every.metadata["wildcards"]["dataset"]}
    return StageResult(rows, ids, compared_in(every.metadata))
