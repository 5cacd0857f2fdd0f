"""Effect sizes of a dataset and two groups: panels are metrics, lines methods, marks models."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import chain, cycle
from types import MappingProxyType

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from exparity.core.escaping import visible
from exparity.report.figures.style import (
    GREY,
    MARKERS,
    PALE,
    SERIES_COLOURS,
    WIDTHS,
    new_figure,
    without_line,
)
from exparity.report.names import Names, fitted
from exparity.report.tables import Cell, Table
from exparity.stats.seeds import SeedTest

MarkStyle = tuple[str, str]
"""Shape and colour of the marks of a model."""
_COLUMNS = 2, 4
"""Most panels side by side, of one column of a page and of two."""


def effects_figure(
    table: Table,
    width: float,
    names: Names,
    *,
    threshold: float,
    quantities: Mapping[str, str] = MappingProxyType({}),
) -> Figure:
    """Draw the effect sizes, with the range below the threshold in grey.

    ``quantities`` are what the effects of a metric are of, where that is not its score.
    """
    panels = len(table.metrics)
    columns = min(_COLUMNS[width > WIDTHS["1col"]], panels)
    lines = math.ceil(panels / columns)
    columns = math.ceil(panels / lines)  # as even as can be
    step = max(0.16, 0.04 * len(table.models) + 0.05)
    height = max(0.3, step * len(table.methods))
    figure = new_figure(width, lines * (height + 0.45) + 0.55)
    grid = figure.subplots(lines, columns, squeeze=False, sharey=True, sharex=True)
    for axes in grid.flat[panels:]:
        axes.set_axis_off()
    styles = dict(zip(table.models, cycle(zip(MARKERS, SERIES_COLOURS, strict=True)), strict=False))
    limit = _limit(table, threshold)
    for i, (axes, metric) in enumerate(zip(grid.flat, table.metrics, strict=False)):
        axes.axvspan(-threshold, threshold, color=PALE, lw=0)
        axes.axvline(0, color=GREY, lw=0.5)
        _panel(axes, table, metric, styles, limit)
        axes.set_xlim(-limit, limit)
        without_line(axes, "y")
        quantity = quantities.get(metric, "score")
        kind = "" if quantity == "score" else f", {quantity}"
        axes.set_title(f"{fitted(names('metric', metric), 20 - len(kind))}{kind}")
        axes.tick_params(labelbottom=i + columns >= panels)
    methods = [fitted(names("method", method), 20) for method in table.methods]
    grid[0, 0].set_yticks(range(len(methods)), methods)
    grid[0, 0].set_ylim(len(methods) - 0.5, -0.5)
    a = visible(table.group_a)
    b = visible(table.group_b)
    figure.supxlabel(f"← {b} higher    Cohen's d, {a} − {b}    {a} higher →", size=6.5)
    handles = _legend(table, styles, names)
    fits = len(handles) < 8 and all(len(str(handle.get_label())) <= 25 for handle in handles)
    if len(grid.flat) > panels and fits:
        grid.flat[panels].legend(handles=handles, loc="center left")
    else:
        figure.legend(handles=handles, loc="outside upper left", ncols=2 if columns < 3 else 4)
    return figure


def _panel(
    axes: Axes, table: Table, metric: str, styles: Mapping[str, MarkStyle], limit: float
) -> None:
    size = 3 - 0.5 * (len(styles) > 3)
    for y, method in enumerate(table.methods):
        if y:
            axes.axhline(y - 0.5, color=PALE, lw=0.4)
        for i, (model, style) in enumerate(styles.items()):
            if cell := table.cells.get((model, method, metric)):
                place = y + (i - (len(styles) - 1) / 2) * 0.72 / len(styles)
                _mark(axes, cell, place, style, size, limit)


def _mark(axes: Axes, cell: Cell, y: float, style: MarkStyle, size: float, limit: float) -> None:
    """Draw the mean over seeds, each of several seeds, and the range of the seeds' intervals."""
    shape, colour = style
    tests = cell.scores
    if ends := _ends(tests):
        axes.plot([min(ends), max(ends)], [y, y], lw=0.5, color=colour, zorder=2)
    d = [test.cohens_d for test in tests if math.isfinite(test.cohens_d)]
    if d and len(tests) > 1:
        axes.plot(d, [y] * len(d), "|", ms=1.3 * size, mew=0.7, color=colour, zorder=2)
    at = cell.mean_d_all
    if math.isnan(at):
        axes.text(0, y, "undefined", size=4, color=GREY, ha="center", va="center")
        return
    if abs(at) > limit:
        shape = ">" if at > 0 else "<"
        at = math.copysign(limit, at)
    fill = colour if cell.in_most_seeds else "white"
    axes.plot(at, y, shape, ms=size, color=colour, mfc=fill, mew=0.6, zorder=3, clip_on=False)


def _legend(table: Table, styles: Mapping[str, MarkStyle], names: Names) -> list[Line2D]:
    """Return the meaning of shapes and of their filling."""
    texts = ("significant", "not")
    if any(cell.total > 1 for cell in table.cells.values()):
        texts = ("significant in most seeds", "in half of them or fewer")
    looks = [(names("model", model), *style, style[1]) for model, style in styles.items() if model]
    looks += [(text, "o", GREY, fill) for text, fill in zip(texts, (GREY, "white"), strict=True)]
    return [
        Line2D([], [], marker=shape, color=colour, label=label, ls="", ms=3.2, mfc=fill, mew=0.6)
        for label, shape, colour, fill in looks
    ]


def _ends(tests: Iterable[SeedTest]) -> list[float]:
    """Return the ends of all intervals that have any."""
    ends = chain.from_iterable((test.d_ci_low, test.d_ci_high) for test in tests)
    return [end for end in ends if math.isfinite(end)]


def _limit(table: Table, threshold: float) -> float:
    """Return the end of the axis, at a round number."""
    means = [abs(c.mean_d_all) for c in table.cells.values() if math.isfinite(c.mean_d_all)]
    tests = chain.from_iterable(cell.scores for cell in table.cells.values())
    longest = max(map(abs, _ends(tests)), default=0.0)
    largest = max([*means, 2 * threshold])
    return math.ceil(max(1.15 * largest, min(1.6 * largest, longest)) * 4) / 4
