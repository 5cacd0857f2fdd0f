"""Forests: panels of rows of marks, each with the range that it lies in and the runs behind it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from exparity.report.figures.canvas import new_figure
from exparity.report.figures.names import fitted
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
    from matplotlib.lines import Line2D


_COLUMNS = 2, 4
"""Most panels side by side, of one column of a page and of two."""


@dataclass(frozen=True)
class Look:
    """Look of a mark, and its meaning."""

    label: str
    shape: str
    colour: str
    filled: bool = True
    size: float = 2.8

    def handle(self) -> Line2D:
        """Return its line of the legend."""
        fill = self.colour if self.filled else "white"
        return mark(self.label, self.shape, self.colour, mfc=fill, mew=0.6)


def series(labels: Sequence[str], **style: Any) -> list[Look]:
    """Return a look for each of several things of one kind."""
    n, of = len(MARKERS), SERIES_COLOURS
    return [Look(label, MARKERS[i % n], of[i % len(of)], **style) for i, label in enumerate(labels)]


@dataclass(frozen=True)
class Mark:
    """A mark, and the ends of its line; ``runs`` are ticks."""

    look: Look
    at: float
    ends: Sequence[float] = ()
    runs: Sequence[float] = ()


@dataclass(frozen=True)
class Panel:
    """One panel.

    Attributes:
        rows: the marks of each row, one below the other; None leaves a place free.
        within: the distance from 0 that is grey.
        limit: the ends of the axis; marks beyond them are arrows.
    """

    title: str
    rows: Sequence[Sequence[Mark | None]]
    within: float = 0.0
    limit: float | None = None


@dataclass(frozen=True)
class Forest:
    """A figure of panels that have their rows in common.

    Attributes:
        names: names of the rows.
        legend: what marks stand for.
        below: what is written below the axes.
        shares_axis: whether panels have one axis.
    """

    panels: Sequence[Panel]
    names: Sequence[str]
    legend: Sequence[Look]
    below: str = ""
    shares_axis: bool = False

    def draw(self, width: float) -> Figure:
        """Draw it at a width in inches."""
        columns = min(_COLUMNS[width > WIDTHS["1col"]], len(self.panels))
        lines = math.ceil(len(self.panels) / columns)
        columns = math.ceil(len(self.panels) / lines)  # as even as can be
        slots = max((len(row) for panel in self.panels for row in panel.rows), default=1)
        step = max(0.16, 0.04 * slots + 0.05)
        height = max(0.3, step * len(self.names))
        figure = new_figure(width, lines * (height + 0.45) + 0.4 + 0.15 * bool(self.below))
        grid = figure.subplots(lines, columns, squeeze=False, sharey=True, sharex=self.shares_axis)
        for axes in grid.flat[len(self.panels) :]:
            axes.set_axis_off()
        for i, (axes, panel) in enumerate(zip(grid.flat, self.panels, strict=False)):
            _draw(axes, panel)
            axes.set_title(panel.title)
            below = i + columns >= len(self.panels)
            axes.tick_params(labelbottom=below or not self.shares_axis)
        grid[0, 0].set_yticks(range(len(self.names)), [fitted(name, 20) for name in self.names])
        grid[0, 0].set_ylim(len(self.names) - 0.5, -0.5)
        if self.below:
            figure.supxlabel(self.below, size=6.5)
        handles, free = [look.handle() for look in self.legend], grid.flat[len(self.panels) :]
        fits = len(handles) < 8 and all(len(look.label) <= 25 for look in self.legend)
        if len(free) and fits:
            free[0].legend(handles=handles, loc="center left")
        else:
            place: dict[str, Any] = {"loc": "outside upper left", "ncols": 2 if columns < 3 else 4}
            figure.legend(handles=handles, **place)
        return figure


def _draw(axes: Axes, panel: Panel) -> None:
    if panel.within:
        axes.axvspan(-panel.within, panel.within, color=PALE, lw=0)
    axes.axvline(0, color=GREY, lw=0.5)
    for y, row in enumerate(panel.rows):
        if y:
            axes.axhline(y - 0.5, color=PALE, lw=0.4)
        for i, one in enumerate(row):
            if one is not None:
                _mark(axes, one, y + (i - (len(row) - 1) / 2) * 0.72 / len(row), panel.limit)
    if panel.limit is None:
        axes.margins(x=0.12)
        axes.grid(axis="x")
        axes.locator_params(axis="x", nbins=4)
    else:
        axes.set_xlim(-panel.limit, panel.limit)
    without_line(axes, "y")


def _mark(axes: Axes, one: Mark, y: float, limit: float | None) -> None:
    look = one.look
    line: dict[str, Any] = {"color": look.colour, "zorder": 2}
    ends = [end for end in one.ends if math.isfinite(end)]
    if ends:
        axes.plot([min(ends), max(ends)], [y, y], lw=0.5, **line)
    if known := [value for value in one.runs if math.isfinite(value)]:
        axes.plot(known, [y] * len(known), "|", ms=1.3 * look.size, mew=0.7, **line)
    if math.isnan(one.at):
        axes.text(0, y, "undefined", size=4, color=GREY, ha="center", va="center")
        return
    at, shape = one.at, look.shape
    if limit is not None and abs(at) > limit:
        at, shape = math.copysign(limit, at), ">" if at > 0 else "<"
    style: dict[str, Any] = {"mew": 0.6, "zorder": 3, "clip_on": False}
    fill = look.colour if look.filled else "white"
    axes.plot(at, y, shape, ms=look.size, color=look.colour, mfc=fill, **style)
