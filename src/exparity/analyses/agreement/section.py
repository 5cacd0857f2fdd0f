"""Agreement of explanations of one text, by group: over trainings and between methods."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from exparity.artefacts.analyses import Findings
from exparity.artefacts.columns import Export, Row, plain_schema
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


def agreement_tables(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Put the rows of the agreement artefact into one table for each dataset and model.

    Its ``lines`` are by ``methods`` and ``trainings``; all pairs of methods come first. The
    ``cells`` of a line are by measure: the mean of each group, and the widest gap of two groups.
    """
    pair = itemgetter("method_a", "method_b")
    return [
        {
            **{name: part[0][name] for name in ("dataset", "model", "groups")},
            "lines": {
                between: [_line(same_pair) for same_pair in grouped(compared, pair).values()]
                for between, compared in grouped(part, itemgetter("between")).items()
            },
        }
        for part in grouped(rows, itemgetter("dataset", "model")).values()
    ]


def _line(rows: Sequence[Row]) -> dict[str, Any]:
    cells = {}
    by_measure = grouped(rows, itemgetter("measure"))
    for measure in MEASURES:
        if pairs := by_measure.get(measure):
            means = {row[f"group_{side}"]: row[f"mean_{side}"] for side in "ab" for row in pairs}
            cells[measure] = means, max(pairs, key=_width)
    return {**{name: rows[0][name] for name in ("method_a", "method_b")}, "cells": cells}


def _width(row: Row) -> tuple[bool, float]:
    """Return how wide a gap is: one that counts as such is wider than any other."""
    is_gap = bool(row["verdict"]) and verdict_of(row["verdict"]).is_gap
    return is_gap, abs(row["d"]) if row["d"] == row["d"] else -1.0


def findings(rows: Sequence[Row], study: Study) -> Findings:
    """Return the section."""
    values = {
        "tables": agreement_tables(rows),
        "top_share": rows[0]["top_share"],
        "unit": rows[0]["unit"],
        "verdict_of": verdict_of,
    }
    return Findings(values, [Export("agreement", "Agreement of explanations", _COLUMNS, rows)])
