"""Stage judge: the verdict of every cell, from its gaps over all trainings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from exparity.artefacts.analyses import Table
from exparity.artefacts.files import read_tables
from exparity.artefacts.ids import Ids
from exparity.artefacts.running import StageResult, analysis
from exparity.core.settings import DEFAULTS
from exparity.stages.compare import OVER_TRAININGS, TESTS
from exparity.stats.among import AmongRight, GroupFacts, among_right
from exparity.stats.crossed import CrossedTest
from exparity.stats.multiplicity import FamilyId, adjust
from exparity.stats.omnibus import Omnibus
from exparity.stats.skill import Rooms, ScaleTests
from exparity.stats.sources import GapSources
from exparity.stats.verdicts import GATES, JUDGED_COLUMNS, judge, standing

CHANGES = {"score": "change", "excess": "excess_change", "skill": "skill_change"}
"""Quantities whose gaps may change by debiasing, and what their change is called."""


@analysis(
    "judge",
    level="experiment",
    reads=("across_trainings", "tests", "debiasing"),
    writes={
        "verdicts": Table(
            "quantity: string",
            "run metric_kind metric_direction better_group: string?",
            "stands headline: bool",
            "witness: string?",
            *OVER_TRAININGS,
            *JUDGED_COLUMNS,
            f"{' '.join(GATES)}: float64",
            "verdict_right: string?",
            keys=("dataset", "model", "method", "metric", "group_a", "group_b", "quantity"),
            ids=("dataset", "model", "method", "metric"),
        ),
        "disparity": Table(
            *TESTS.columns,
            "p_holm p_bh wilcoxon_p_holm wilcoxon_p_bh: float64",
            "significant_holm significant_bh: bool",
            keys=("dataset", "model", *TESTS.keys),
            ids=("dataset", "model", *TESTS.ids),
        ),
    },
    display="Verdicts",
    always=True,
    memory_mb=4000,
    minutes=10,
    statistics=("family", "alpha"),
)
def judge_cells(
    across_trainings: Sequence[Path],
    tests: Sequence[Path],
    debiasing: Sequence[Path] | None,
    *,
    family: Sequence[FamilyId] = ("dataset",),
    alpha: float = DEFAULTS.alpha,
) -> StageResult:
    """Judge every cell of a study, with p-values corrected within families.

    Scores, their excess over random explanations and skill are judged apart from each other. So are
    random explanations, and the ``change`` of gaps by debiasing. The row that ``stands`` is the
    first that a cell has of skill, excess and score; of the standing rows of a method, those of
    forward simulation are the ``headline`` where it has them. ``witness`` is what a metric asks, of
    those that err in different ways. ``verdict_right`` is the verdict in
    the same family among the texts that the classifiers predict rightly. The tests within each
    training are corrected in families of the same ids.

    Args:
        across_trainings: across_trainings artefacts, one for each dataset and model.
        tests: tests artefacts, one for each dataset and model.
        debiasing: debiasing artefacts, one for each dataset, if there are any.
        family: cells that agree in these ids are corrected together; all cells if it is empty.
        alpha: largest corrected p-value that is significant.

    Raises:
        InputError: a file is damaged.
    """
    rows = read_tables(across_trainings, "across_trainings").to_pylist()
    rows += _changes(read_tables(debiasing or (), "debiasing"))
    compared = adjust(read_tables(tests, "tests").to_pylist(), family, alpha=alpha)
    stood = standing(rows)
    judged_right = judge([among_right(row) for row in stood], family, alpha=alpha)
    judged = [
        {**row, "verdict_right": right["verdict"]}
        for row, right in zip(judge(stood, family, alpha=alpha), judged_right, strict=True)
    ]
    return StageResult(judged, {}, further={"disparity": compared})


class _Change(NamedTuple):
    """A row of a debiasing artefact, and its change of |d|."""

    dataset: str
    model: str
    method: str
    metric: str
    quantity: str
    seed: int | None
    group_a: str
    group_b: str
    change: float

    @property
    def ids(self) -> Ids:
        """Ids of its cell, of all trainings."""
        return Ids(dataset=self.dataset, model=self.model, method=self.method, metric=self.metric)


def _changes(table: pa.Table) -> Iterator[dict[str, object]]:
    """Yield the changes over all trainings of a debiasing artefact, as gaps are judged."""
    for row in table.to_pylist():
        gap = _Change(*(row[name] for name in _Change._fields))
        if gap.seed is None:
            nothing = vars(CrossedTest(gap.group_a, gap.group_b))
            nothing |= {**vars(ScaleTests()), **vars(Rooms()), **vars(GapSources())}
            nothing |= {**vars(GroupFacts()), **vars(AmongRight()), **vars(Omnibus())}
            # A change of d is in units of the standard deviation already.
            change = {
                "estimate": gap.change,
                "d": gap.change,
                "pooled_sd": 1.0,
                "quantity": CHANGES[gap.quantity],
            }
            row_values = {name: row[name] for name in nothing if name in row}
            yield {**gap.ids, **nothing, **row_values, **change}
