"""Effect sizes as a forest: one panel a metric, one row a method, one mark a model."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any

from exparity.core.escaping import visible
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
from exparity.report.tables import CellKey, Row, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


def effects_figure(table: Table, width: float, names: Names, *, threshold: float) -> Figure:
    """Draw the effect sizes of one dataset and two groups; small ones lie on grey."""
    columns = min(2 if width <= WIDTHS["1col"] else 4, len(table.metrics))
    rows = math.ceil(len(table.metrics) / columns)
    step = max(0.16, 0.036 * len(table.models) + 0.05)
    figure = new_figure(width, rows * (step * len(table.methods) + 0.32) + 0.42)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    limit = _limit(table, threshold)
    for i, axes in enumerate(grid.flat):
        if i >= len(table.metrics):
            axes.set_axis_off()
            continue
        metric = table.metrics[i]
        _panel(axes, table, metric, limit, threshold)
        axes.set_title(fitted(names("metric", metric), 25 if columns > 2 else 20))
        axes.tick_params(labelbottom=i + columns >= len(table.metrics))
    labels = [fitted(names("method", m), 20) for m in table.methods]
    grid[0, 0].set_yticks(range(len(table.methods)), labels)
    grid[0, 0].set_ylim(len(table.methods) - 0.5, -0.5)
    a, b = visible(table.group_a), visible(table.group_b)
    figure.supxlabel(f"← {b} higher    Cohen’s d, {a} − {b}    {a} higher →", size=6.5)
    marks, free = _marks(table, names), grid.flat[len(table.metrics) :]
    if len(free):
        free[0].legend(handles=marks, loc="center left")
    else:
        figure.legend(handles=marks, loc="outside upper left", ncols=2 if columns < 4 else 4)
    return figure


def _panel(axes: Axes, table: Table, metric: str, limit: float, threshold: float) -> None:
    axes.axvspan(-threshold, threshold, color=PALE, lw=0)
    axes.axvline(0, color=GREY, lw=0.5)
    for between in range(1, len(table.methods)):
        axes.axhline(between - 0.5, color=PALE, lw=0.4)
    n = len(table.models)
    for row, method in enumerate(table.methods):
        for i, model in enumerate(table.models):
            if (model, method, metric) in table.cells:
                y = row + (i - (n - 1) / 2) * 0.72 / n
                _mark(axes, table, (model, method, metric), y, limit)
    axes.set_xlim(-limit, limit)
    without_line(axes, "y")


def _mark(axes: Axes, table: Table, key: CellKey, y: float, limit: float) -> None:
    """Draw one model: the mean over seeds, each seed, and the range of the seeds' intervals."""
    cell, tests = table.cells[key], table.tests[key]
    colour, shape = _of_model(table, key[0])
    mean, size = cell.summary.mean_d, 3.0 if len(table.models) <= 3 else 2.5
    d = [row["cohens_d"] for row in tests if math.isfinite(row["cohens_d"])]
    ends = _ends(tests)
    if ends:
        axes.plot([min(ends), max(ends)], [y, y], color=colour, lw=0.5, zorder=2)
    if len(tests) > 1:
        axes.plot(d, [y] * len(d), "|", color=colour, ms=1.3 * size, mew=0.7, zorder=2)
    if math.isnan(mean):
        axes.text(0, y, "undefined", size=4, color=GREY, ha="center", va="center")
        return
    if abs(mean) > limit:
        shape = ">" if mean > 0 else "<"
    fill = colour if cell.in_most_seeds else "white"
    style: dict[str, Any] = {"mfc": fill, "mew": 0.6, "zorder": 3, "clip_on": False}
    axes.plot(max(-limit, min(limit, mean)), y, shape, ms=size, color=colour, **style)


def _of_model(table: Table, model: str) -> tuple[str, str]:
    """Return colour and shape of a model's marks."""
    i = table.models.index(model)
    return SERIES_COLOURS[i % len(SERIES_COLOURS)], MARKERS[i % len(MARKERS)]


def _ends(tests: Iterable[Row]) -> list[float]:
    """Return the ends of all intervals that have any."""
    ends = [row[end] for row in tests for end in ("d_ci_low", "d_ci_high")]
    return [end for end in ends if math.isfinite(end)]


def _limit(table: Table, threshold: float) -> float:
    """Return the end of the axis, at a round number.

    It lies beyond every finite mean effect, and beyond intervals unless they are far longer.
    """
    means = [abs(c.summary.mean_d) for c in table.cells.values() if math.isfinite(c.summary.mean_d)]
    longest = max(map(abs, _ends(chain.from_iterable(table.tests.values()))), default=0.0)
    largest = max([*means, 2 * threshold])
    return math.ceil(max(1.15 * largest, min(1.6 * largest, longest)) * 4) / 4


def _marks(table: Table, names: Names) -> list[Line2D]:
    marks = [
        mark(names("model", model), shape, colour, mfc=colour, mew=0.6)
        for model in table.models
        if model
        for colour, shape in [_of_model(table, model)]
    ]
    texts = ("significant", "not")
    if any(cell.total > 1 for cell in table.cells.values()):
        texts = ("significant in most seeds", "in half of them or fewer")
    marks.append(mark(texts[0], "o", GREY, mfc=GREY, mew=0.6))
    marks.append(mark(texts[1], "o", GREY, mfc="white", mew=0.6))
    return marks
