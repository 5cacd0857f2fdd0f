"""Effect sizes as a forest: one panel a metric, one row a method, one mark a model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from exparity.core.escaping import visible
from exparity.report.figures.canvas import new_figure
from exparity.report.figures.names import Names, fitted
from exparity.report.figures.style import GREY, MARKERS, PALE, SERIES_COLOURS, WIDTHS
from exparity.report.tables import Cell, Row, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def effects_figure(table: Table, width: float, names: Names, *, threshold: float) -> Figure:
    """Draw the effect sizes of one dataset and two groups.

    Args:
        table: the table that the effects are in.
        width: of the figure, in inches.
        names: what things are called.
        threshold: |d| from which an effect is considerable; smaller ones lie on grey.
    """
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
    free = grid.flat[len(table.metrics) :]
    if len(free):
        free[0].legend(handles=_marks(table, names), loc="center left")
    else:
        figure.legend(
            handles=_marks(table, names), loc="outside upper left", ncols=2 if columns < 4 else 4
        )
    return figure


def _panel(axes: Axes, table: Table, metric: str, limit: float, threshold: float) -> None:
    axes.axvspan(-threshold, threshold, color=PALE, lw=0)
    axes.axvline(0, color=GREY, lw=0.5)
    for between in range(1, len(table.methods)):
        axes.axhline(between - 0.5, color=PALE, lw=0.4)
    n = len(table.models)
    for row, method in enumerate(table.methods):
        for i, model in enumerate(table.models):
            cell = table.cells.get((model, method, metric))
            if cell is None:
                continue
            y = row + (i - (n - 1) / 2) * 0.72 / n
            size = 3.0 if n <= 3 else 2.5
            _mark(axes, i, y, cell, table.tests[model, method, metric], limit, size)
    axes.set_xlim(-limit, limit)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _mark(
    axes: Axes,
    i: int,
    y: float,
    cell: Cell,
    rows: Sequence[Row],
    limit: float,
    size: float,
) -> None:
    """Draw one model: the mean over seeds, each seed, and the range of the seeds' intervals."""
    colour, mean = SERIES_COLOURS[i % len(SERIES_COLOURS)], cell.summary.mean_d
    d = [row["cohens_d"] for row in rows if math.isfinite(row["cohens_d"])]
    ends = [
        row[end] for row in rows for end in ("d_ci_low", "d_ci_high") if math.isfinite(row[end])
    ]
    if ends:
        axes.plot([min(ends), max(ends)], [y, y], color=colour, lw=0.5, zorder=2)
    if len(rows) > 1:
        axes.plot(d, [y] * len(d), "|", color=colour, ms=1.3 * size, mew=0.7, zorder=2)
    if math.isnan(mean):
        axes.text(0, y, "undefined", size=4, color=GREY, ha="center", va="center")
        return
    outside = abs(mean) > limit
    marker = (">" if mean > 0 else "<") if outside else MARKERS[i % len(MARKERS)]
    axes.plot(
        max(-limit, min(limit, mean)), y, marker, ms=size, color=colour,
        mfc=colour if cell.in_most_seeds else "white", mew=0.6, zorder=3, clip_on=False,
    )  # fmt: skip


def _limit(table: Table, threshold: float) -> float:
    """Return the end of the axis, at a round number.

    It lies beyond every finite mean effect, and beyond intervals unless they are far longer.
    """
    means = [abs(c.summary.mean_d) for c in table.cells.values() if math.isfinite(c.summary.mean_d)]
    ends = [abs(row[end]) for rows in table.tests.values() for row in rows
            for end in ("d_ci_low", "d_ci_high") if math.isfinite(row[end])]  # fmt: skip
    largest = max([*means, 2 * threshold])
    return math.ceil(max(1.15 * largest, min(1.6 * largest, max(ends, default=0.0))) * 4) / 4


def _marks(table: Table, names: Names) -> list[Any]:
    from matplotlib.lines import Line2D

    def line(label: str, marker: str, colour: str, fill: str) -> Line2D:
        return Line2D([], [], marker=marker, ls="", ms=3.2, color=colour, mfc=fill, mew=0.6,
                      label=label)  # fmt: skip

    marks = [
        line(names("model", model), MARKERS[i % len(MARKERS)], colour, colour)
        for i, model in enumerate(table.models)
        if model
        for colour in [SERIES_COLOURS[i % len(SERIES_COLOURS)]]
    ]
    several = any(cell.total > 1 for cell in table.cells.values())
    marks.append(line("significant in most seeds" if several else "significant", "o", GREY, GREY))
    marks.append(line("in half of them or fewer" if several else "not", "o", GREY, "white"))
    return marks
