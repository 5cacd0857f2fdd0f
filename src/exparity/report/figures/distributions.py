"""Distributions of scores by group: violins with boxes, one panel per model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.mlab import GaussianKDE
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
from exparity.report.ranges import EQUAL, is_constant, shares_of
from exparity.types import FloatArray

_QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
"""Ends of violin, whiskers and box, and the median; outliers would hide all else."""
_POINTS = 64


@dataclass(frozen=True)
class Spread:
    """Summary of one group's scores."""

    numbers: FloatArray  # quantiles at 5, 25, 50, 75 and 95 %
    at: FloatArray  # (k,) from the 1 % to the 99 % quantile
    density: FloatArray  # (k,) there, its largest value 1


def score_spread(values: Sequence[float] | FloatArray) -> Spread | None:
    """Summarise the finite scores; None if there is none.

    The density is a Gaussian kernel estimate between the outer quantiles with Scott's bandwidth.
    Equal scores have no density.
    """
    defined = np.asarray(values, dtype=np.float64)
    defined = defined[np.isfinite(defined)]
    if not len(defined):
        return None
    start, *numbers, end = np.quantile(defined, _QUANTILES)
    kept = defined[(defined >= start) & (defined <= end)]
    if len(kept) < 3:
        kept = defined
    density = _density(kept, float(start), float(end))
    if density is None:
        return Spread(np.array(numbers), np.full(2, kept[0]), np.ones(2))
    return Spread(np.array(numbers), np.linspace(start, end, _POINTS), density / density.max())


def _density(values: FloatArray, start: float, end: float) -> FloatArray | None:
    """Return the density of values at even steps from start to end; None if they are equal."""
    low, high = float(values.min()), float(values.max())
    if is_constant(low, high):
        return None
    shares = shares_of(values, low, high)
    first, last = shares_of(np.array([start, end]), low, high)
    spread = float(shares.std(ddof=1))
    if spread <= EQUAL * (last - first):
        return None
    at, step = np.linspace(first, last, _POINTS, retstep=True)
    # No narrower than a step, or values between two points would be nowhere.
    width = max(len(shares) ** -0.2, float(step) / spread)
    density: FloatArray = GaussianKDE((shares - first) / spread, width).evaluate(
        (at - first) / spread
    )
    return density


Spreads = Mapping[tuple[str, str, str], Spread | None]
"""By model, method (or any other place on the axis) and group."""


def distributions_figure(spreads: Spreads, width: float, names: Names, *, metric: str) -> Figure:
    """Draw the scores of one dataset and metric: one panel per model, one place per method."""
    models, methods, groups = (list(dict.fromkeys(ids)) for ids in zip(*spreads, strict=True))
    narrow = width <= WIDTHS["1col"]
    panel, labels = (0.75 if narrow else 0.85), (0.75 if narrow else 0.3)
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
    """Have the axis of equal scores reach beyond them: it would show their rounding otherwise."""
    ends = [end for spread in spreads if spread for end in (spread.at[0], spread.at[-1])]
    if ends and is_constant(min(ends), max(ends)):
        middle = float(ends[0])
        room = abs(middle) / 10 or 1.0
        axes.set_ylim(middle - room, middle + room)
    else:
        axes.set_ylim(auto=True)


def _violin(axes: Axes, spread: Spread, x: float, i: int, n: int) -> None:
    """Draw one group: the first of two to the left of its place, the second to the right."""
    half = n == 2
    slot = 0.86 / n
    centre = x + (i - (n - 1) / 2) * slot
    body = spread.density * slot * (0.92 if half else 0.46)
    if half:
        edge = x - 0.015 if i == 0 else x + 0.015
        sides = (edge - body, np.full_like(body, edge)) if i == 0 else (edge, edge + body)
        centre = edge + (-0.07 if i == 0 else 0.07)
    else:
        sides = (centre - body, centre + body)
    filling = _filling(i)
    if spread.at[0] < spread.at[-1]:
        axes.fill_betweenx(spread.at, *sides, linewidth=0.5, **filling)
    else:
        ends = [np.min(sides[0]), np.max(sides[1])]
        axes.plot(ends, [spread.at[0]] * 2, color=filling["edgecolor"], lw=1)
    half_box = 0.045 if half else 0.06
    box = [centre - half_box, centre + half_box]
    low, q1, median, q3, high = spread.numbers
    axes.plot([centre, centre], [low, high], color=BLACK, lw=0.5, zorder=3)
    axes.fill_between(box, q1, q3, facecolor="white", edgecolor=BLACK, lw=0.5, zorder=4)
    axes.plot(box, [median] * 2, color=BLACK, lw=1.2, zorder=5, solid_capstyle="butt")


def _filling(i: int) -> dict[str, Any]:
    """Return the colours and the hatching of the group at a place."""
    colour = GROUP_COLOURS[i % len(GROUP_COLOURS)]
    hatch = GROUP_HATCHES[i % len(GROUP_HATCHES)]
    return {"facecolor": tint(colour, 0.25), "edgecolor": colour, "hatch": hatch}


def group_marks(groups: Sequence[str]) -> list[Patch]:
    """Return the legend of the groups."""
    return [Patch(label=visible(group), **_filling(i)) for i, group in enumerate(groups)]
