"""Change of |d| by recipe as a forest: one panel a metric, one row a recipe, one mark a method."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from exparity.report.figures.forest import Forest, Look, Mark, Panel, series
from exparity.report.figures.names import Names, fitted
from exparity.report.figures.style import GREY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exparity.analyses.debiasing.changes import Change, ChangeTable

_RANDOM = Look("random explanations", "x", GREY)
_BESIDE = {
    "accuracy": Look("accuracy", "o", GREY, filled=False),
    "statistical_gap": Look("statistical gap", "s", GREY, filled=False),
    "causal_gap": Look("causal gap", "^", GREY, filled=False),
}


def change_forest(table: ChangeTable, names: Names) -> Forest:
    """Show the changes of one dataset and two groups, and those of the classifiers."""
    methods = list(dict.fromkeys(method for method, _ in table.lines))
    looks = series([names("method", method) for method in methods])
    panels = [
        Panel(
            fitted(names("metric", metric), 24),
            [
                _marks([table.cells.get((recipe, m, metric)) for m in methods], looks)
                for recipe in table.recipes
            ],
        )
        for metric in dict.fromkeys(metric for _, metric in table.lines)
    ]
    beside = [
        [
            Mark(look, getattr(one, name) - getattr(one, f"base_{name}"))
            for name, look in _BESIDE.items()
        ]
        for one in table.classifiers
    ]
    return Forest(
        [*panels, Panel("The classifiers", beside)],
        table.recipes,
        [*looks, _RANDOM, *_BESIDE.values()],
        below="← smaller    change beside the base    larger →",
    )


def _marks(cells: Sequence[Change | None], looks: Sequence[Look]) -> list[Mark | None]:
    """Return one recipe by one metric: each method with its interval, and random explanations."""
    marks = [
        Mark(replace(look, filled=cell.is_shown), cell.change, (cell.ci_low, cell.ci_high))
        if cell is not None and math.isfinite(cell.change)
        else None
        for cell, look in zip(cells, looks, strict=True)
    ]
    random = [cell.random_change for cell in cells if cell is not None]
    shown = random and math.isfinite(random[0])
    return [*marks, Mark(_RANDOM, random[0]) if shown else None]
