"""Series of the forest of effect sizes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

from exparity.core.escaping import visible
from exparity.report.figures.forest import Forest, Look, Mark, Panel, series
from exparity.report.figures.names import Names, fitted
from exparity.report.figures.style import GREY
from exparity.report.tables import CellKey, Row, Table


def effects_forest(table: Table, names: Names, *, threshold: float) -> Forest:
    """Show the effect sizes of one dataset and two groups; small ones lie on grey."""
    limit = _limit(table, threshold)
    looks = series(
        [names("model", m) for m in table.models], size=3 - 0.5 * (len(table.models) > 3)
    )
    panels = [
        Panel(
            fitted(names("metric", metric), 20),
            [
                [_effect(table, (m, method, metric), looks[i]) for i, m in enumerate(table.models)]
                for method in table.methods
            ],
            within=threshold,
            limit=limit,
        )
        for metric in table.metrics
    ]
    several = any(cell.total > 1 for cell in table.cells.values())
    texts = ("significant", "not")
    if several:
        texts = ("significant in most seeds", "in half of them or fewer")
    dots = [
        Look(text, "o", GREY, filled) for text, filled in zip(texts, (True, False), strict=True)
    ]
    named = [look for look, model in zip(looks, table.models, strict=True) if model]
    a, b = visible(table.group_a), visible(table.group_b)
    return Forest(
        panels,
        [names("method", method) for method in table.methods],
        [*named, *dots],
        below=f"← {b} higher    Cohen’s d, {a} − {b}    {a} higher →",
        shares_axis=True,
    )


def _effect(table: Table, key: CellKey, look: Look) -> Mark | None:
    """Return the mean over seeds, each seed, and the range of the seeds' intervals."""
    if key not in table.cells:
        return None
    cell, tests = table.cells[key], table.tests[key]
    d = [row["cohens_d"] for row in tests] if len(tests) > 1 else []
    look = replace(look, filled=cell.in_most_seeds)
    return Mark(look, cell.mean_d_all, _ends(tests), d)


def _ends(tests: Iterable[Row]) -> list[float]:
    """Return the ends of all intervals that have any."""
    ends = [row[end] for row in tests for end in ("d_ci_low", "d_ci_high")]
    return [end for end in ends if math.isfinite(end)]


def _limit(table: Table, threshold: float) -> float:
    """Return the end of the axis, at a round number."""
    means = [abs(c.mean_d_all) for c in table.cells.values() if math.isfinite(c.mean_d_all)]
    longest = max(map(abs, _ends(chain.from_iterable(table.tests.values()))), default=0.0)
    largest = max([*means, 2 * threshold])
    return math.ceil(max(1.15 * largest, min(1.6 * largest, longest)) * 4) / 4
