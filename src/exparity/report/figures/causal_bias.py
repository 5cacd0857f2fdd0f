"""Statistical beside causal gaps by class: as Figures 2 and 5 of Chen, Ji and Evans (2024)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from exparity.core.escaping import visible
from exparity.report.causal import KINDS, ClassGap
from exparity.report.figures.canvas import new_figure
from exparity.report.figures.names import Names, fitted
from exparity.report.figures.style import (
    BLUE,
    GREY,
    MARKERS,
    PALE,
    VERMILION,
    WIDTHS,
    mark,
    without_line,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = dict(zip(KINDS, (BLUE, VERMILION), strict=True))
_SHAPES = dict(zip(KINDS, MARKERS, strict=False))


def causal_bias_figure(
    gaps: Sequence[ClassGap], models: Sequence[str], width: float, names: Names
) -> Figure:
    """Draw the gaps of one rate, dataset and pair of groups: a panel for each model.

    Classes are sorted by the statistical gap of the first model.
    """
    first = {g.class_name: g.mean for g in gaps if (g.model, g.kind) == (models[0], "statistical")}
    classes = dict.fromkeys(g.class_name for g in gaps)
    order = sorted(classes, key=lambda name: first.get(name, 0.0))
    columns = min(1 if width <= WIDTHS["1col"] else 4, len(models))
    lines = -(-len(models) // columns)
    figure = new_figure(width, lines * (0.16 * len(order) + 0.5) + 0.3)
    grid = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True)
    for axes in grid.flat[len(models) :]:
        axes.set_axis_off()
    for axes, model in zip(grid.flat, models, strict=False):
        _panel(axes, [gap for gap in gaps if gap.model == model], order)
        axes.set_title(fitted(names("model", model), 24))
    grid[0, 0].set_yticks(range(len(order)), [fitted(visible(name), 22) for name in order])
    grid[0, 0].set_ylim(-0.6, len(order) - 0.4)
    handles = [mark(kind, _SHAPES[kind], _COLOURS[kind]) for kind in KINDS]
    figure.legend(handles=handles, loc="outside upper left", ncols=len(handles))
    return figure


def _panel(axes: Axes, gaps: Sequence[ClassGap], order: Sequence[str]) -> None:
    axes.axvline(0, color=GREY, lw=0.5)
    for i in range(1, len(order)):
        axes.axhline(i - 0.5, color=PALE, lw=0.4)
    for gap in gaps:
        colour = _COLOURS[gap.kind]
        y = order.index(gap.class_name) + (0.15 if gap.kind == "statistical" else -0.15)
        axes.plot([100 * gap.low, 100 * gap.high], [y, y], color=colour, lw=0.6)
        axes.plot(100 * gap.mean, y, _SHAPES[gap.kind], color=colour, ms=2.8, zorder=3)
    axes.grid(axis="x")
    axes.locator_params(axis="x", nbins=4)
    without_line(axes, "y")
