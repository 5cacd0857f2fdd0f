"""Distributions of scores by group: violins with boxes, one panel per model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from exparity.core.escaping import visible
from exparity.report.figures.style import (
    BLACK,
    GROUP_COLOURS,
    GROUP_HATCHES,
    WIDTHS,
    new_figure,
    tint,
    without_line,
)
from exparity.report.names import Names, fitted
from exparity.report.spreads import Spread, range_of, violin_of

Spreads = Mapping[tuple[str, str, str], Spread | None]
"""By model, method (or any other place on the axis) and group."""


def distributions_figure(spreads: Spreads, width: float, names: Names, *, metric: str) -> Figure:
    """Draw the scores of one dataset and metric: one panel per model, one place per method."""
    models = list(dict.fromkeys(model for model, _, _ in spreads))
    methods = list(dict.fromkeys(method for _, method, _ in spreads))
    groups = list(dict.fromkeys(group for _, _, group in spreads))
    narrow = width <= WIDTHS["1col"]
    panel = 0.75 if narrow else 0.85
    labels = 0.75 if narrow else 0.3
    figure = new_figure(width, panel * len(models) + labels + 0.3)
    grid = figure.subplots(len(models), 1, squeeze=False, sharex=True, sharey=True)[:, 0]
    for axes, model in zip(grid, models, strict=True):
        distributions_panel(
            axes,
            [[spreads.get((model, method, group)) for group in groups] for method in methods],
        )
        if len(models) > 1:
            axes.set_title(names("model", model))
    grid[-1].set_xticks(
        range(len(methods)),
        [fitted(names("method", m), 22 if narrow else 16) for m in methods],
        **({"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if narrow else {}),
    )
    _widen(grid[0], spreads.values())
    figure.supylabel(names("metric", metric), size=6.5)
    if any(groups):
        figure.legend(handles=group_marks(groups), loc="outside upper right", ncols=len(groups))
    return figure


Filled = TypeVar("Filled", Patch, PolyCollection)


def distributions_panel(axes: Axes, places: Sequence[Sequence[Spread | None]]) -> None:
    """Draw groups side by side at 0, 1, …; two groups are the halves of one violin."""
    for x, spreads in enumerate(places):
        for i, spread in enumerate(spreads):
            if spread is not None:
                _violin(axes, spread, x, i, len(spreads))
    _widen(axes, chain.from_iterable(places))
    axes.set_xlim(-0.5, len(places) - 0.5)
    axes.grid(axis="y")
    without_line(axes, "x")


def _widen(axes: Axes, spreads: Iterable[Spread | None]) -> None:
    """Have the axis hold all spreads, also those of panels that share it."""
    limits = range_of(spreads)
    if limits is not None:
        axes.set_ylim(*limits)


def _violin(axes: Axes, spread: Spread, place: float, index: int, n_groups: int) -> None:
    """Draw one group: the first of two to the left of its place, the second to the right."""
    violin = violin_of(spread, place, index, n_groups)
    if spread.is_flat:
        ends = [np.min(violin.left), np.max(violin.right)]
        axes.plot(ends, [violin.at[0]] * 2, color=GROUP_COLOURS[index % len(GROUP_COLOURS)], lw=1)
    else:
        _fill(axes.fill_betweenx(violin.at, violin.left, violin.right, linewidth=0.5), index)
    box = [violin.centre - violin.half_box, violin.centre + violin.half_box]
    low, q1, median, q3, high = spread.numbers
    axes.plot([violin.centre] * 2, [low, high], color=BLACK, lw=0.5, zorder=3)
    axes.fill_between(box, q1, q3, facecolor="white", edgecolor=BLACK, lw=0.5, zorder=4)
    axes.plot(box, [median] * 2, color=BLACK, lw=1.2, zorder=5, solid_capstyle="butt")


def _fill(shape: Filled, i: int) -> Filled:
    """Return a shape with the colours and the hatching of the group at a place."""
    colour = GROUP_COLOURS[i % len(GROUP_COLOURS)]
    shape.set(facecolor=tint(colour, 0.25), edgecolor=colour)
    shape.set_hatch(GROUP_HATCHES[i % len(GROUP_HATCHES)])
    return shape


def group_marks(groups: Sequence[str]) -> list[Patch]:
    """Return the legend of the groups."""
    return [_fill(Patch(label=visible(group)), i) for i, group in enumerate(groups)]
