"""Change of |d| by recipe as a forest: one panel a metric, one row a recipe, one mark a method."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from exparity.report.figures.canvas import new_figure
from exparity.report.figures.names import Names, fitted
from exparity.report.figures.style import (
    GREY,
    MARKERS,
    PALE,
    SERIES_COLOURS,
    WIDTHS,
    mark,
    without_line,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from exparity.analyses.debiasing.changes import Change, ChangeTable

_BESIDE = (("accuracy", "accuracy"), ("statistical_gap", "statistical gap"),
           ("causal_gap", "causal gap"))  # fmt: skip


def change_figure(table: ChangeTable, width: float, names: Names) -> Figure:
    """Draw the changes of one dataset and two groups, and those of the classifiers."""
    metrics = list(dict.fromkeys(metric for _, metric in table.lines))
    methods = list(dict.fromkeys(method for method, _ in table.lines))
    panels, widest = len(metrics) + 1, 2 if width <= WIDTHS["1col"] else 4
    rows = math.ceil(panels / widest)
    columns = math.ceil(panels / rows)  # as even as can be
    step = 0.05 * (len(methods) + 1) + 0.08
    figure = new_figure(width, rows * (step * len(table.recipes) + 0.4) + 0.5)
    grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
    for i, axes in enumerate(grid.flat):
        if i > len(metrics):
            axes.set_axis_off()
            continue
        _frame(axes, len(table.recipes))
        axes.locator_params(axis="x", nbins=4)
        if i < len(metrics):
            axes.set_title(fitted(names("metric", metrics[i]), 24))
            for row, recipe in enumerate(table.recipes):
                cells = [table.cells.get((recipe, m, metrics[i])) for m in methods]
                _marks(axes, row, cells)
        else:
            axes.set_title("The classifiers")
            _classifiers(axes, table)
    grid[0, 0].set_yticks(range(len(table.recipes)), [fitted(m, 18) for m in table.recipes])
    grid[0, 0].set_ylim(len(table.recipes) - 0.5, -0.5)
    figure.supxlabel("← smaller    change beside the base    larger →",
                     size=6.5)  # fmt: skip
    legend = [
        mark(names("method", method), MARKERS[m % len(MARKERS)], _colour(m))
        for m, method in enumerate(methods)
    ]
    legend.append(mark("random explanations", "x", GREY))
    legend += [mark(label, MARKERS[m], GREY, mfc="white") for m, (_, label) in enumerate(_BESIDE)]
    figure.legend(handles=legend, loc="outside upper left", ncols=2 if columns < 4 else 4)
    return figure


def _frame(axes: Axes, recipes: int) -> None:
    axes.axvline(0, color=GREY, lw=0.5)
    for between in range(1, recipes):
        axes.axhline(between - 0.5, color=PALE, lw=0.4)
    without_line(axes, "y")


def _colour(position: int) -> str:
    return SERIES_COLOURS[position % len(SERIES_COLOURS)]


def _marks(axes: Axes, row: int, cells: list[Change | None]) -> None:
    """Draw one recipe by one metric: each method with its interval, and random explanations."""
    slots = len(cells) + 1
    for m, cell in enumerate(cells):
        if cell is None or not math.isfinite(cell.change):
            continue
        y, colour = row + ((m + 0.5) / slots - 0.5) * 0.8, _colour(m)
        if math.isfinite(cell.ci_low):
            axes.plot([cell.ci_low, cell.ci_high], [y, y], color=colour, lw=0.5, zorder=2)
        fill = colour if cell.is_shown else "white"
        axes.plot(cell.change, y, MARKERS[m % len(MARKERS)], ms=2.8, color=colour, mfc=fill,
                  mew=0.6, zorder=3)  # fmt: skip
    random = [cell.random_change for cell in cells if cell is not None]
    if random and math.isfinite(random[0]):
        axes.plot(random[0], row + ((slots - 0.5) / slots - 0.5) * 0.8, "x", ms=2.8, color=GREY)


def _classifiers(axes: Axes, table: ChangeTable) -> None:
    for row, one in enumerate(table.classifiers):
        for m, (name, _) in enumerate(_BESIDE):
            change = getattr(one, name) - getattr(one, f"base_{name}")
            y = row + ((m + 0.5) / len(_BESIDE) - 0.5) * 0.6
            axes.plot(change, y, MARKERS[m], ms=2.8, color=GREY, mfc="white", mew=0.6)
