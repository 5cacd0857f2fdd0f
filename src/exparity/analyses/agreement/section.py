"""Agreement of explanations of one text, by group: over trainings and between methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

from exparity.artefacts.analyses import Findings
from exparity.artefacts.columns import Export, Row, plain_schema, records
from exparity.core.grouping import grouped
from exparity.report.gather import Study
from exparity.report.verdicts import verdict_of

MEASURES = ("spearman", "top_overlap", "sign")
_COLUMNS = plain_schema(
    "dataset model between method_a method_b measure group_a group_b: string",
    "mean_a mean_b d: float64",
    "verdict: string",
    "n_a n_b: int64",
)


@dataclass(frozen=True)
class _Compared:
    """The agreement of two groups by one measure, as a row of the verdicts."""

    dataset: str
    model: str
    groups: Sequence[str]
    between: str
    method_a: str
    method_b: str
    measure: str
    group_a: str
    group_b: str
    mean_a: float
    mean_b: float
    d: float
    verdict: str | None

    @property
    def width(self) -> tuple[bool, float]:
        """How wide the gap is: one that counts as such is wider than any other."""
        is_gap = verdict_of(self.verdict).is_gap if self.verdict else False
        return is_gap, abs(self.d) if self.d == self.d else -1.0


def agreement_tables(rows: Sequence[Row]) -> list[dict[str, object]]:
    """Put the rows of the agreement artefact into one table for each dataset and model.

    Its ``lines`` are by ``methods`` and ``trainings``; all pairs of methods come first. The
    ``cells`` of a line are by measure: the mean of each group, and the widest gap of two groups.
    """
    pair = attrgetter("method_a", "method_b")
    by_model = grouped(records(_Compared, rows), attrgetter("dataset", "model"))
    return [
        {
            "dataset": dataset,
            "model": model,
            "groups": part[0].groups,
            "lines": {
                between: [_line(same_pair) for same_pair in grouped(compared, pair).values()]
                for between, compared in grouped(part, attrgetter("between")).items()
            },
        }
        for (dataset, model), part in by_model.items()
    ]


def _line(compared: Sequence[_Compared]) -> dict[str, object]:
    cells = {}
    by_measure = grouped(compared, attrgetter("measure"))
    for measure in MEASURES:
        if pairs := by_measure.get(measure):
            means = {pair.group_a: pair.mean_a for pair in pairs}
            means |= {pair.group_b: pair.mean_b for pair in pairs}
            cells[measure] = means, max(pairs, key=attrgetter("width"))
    first = compared[0]
    return {"method_a": first.method_a, "method_b": first.method_b, "cells": cells}


def findings(rows: Sequence[Row], study: Study) -> Findings:
    """Return the section."""
    values = {
        "tables": agreement_tables(rows),
        "top_share": rows[0]["top_share"],
        "unit": rows[0]["unit"],
        "verdict_of": verdict_of,
    }
    return Findings(values, [Export("agreement", "Agreement of explanations", _COLUMNS, rows)])
