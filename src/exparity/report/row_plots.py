"""Plots of rows: the levels of groups as dots, and the sources of gaps as stacked bars.

Names and verdicts are words of the page, beside a drawing that has room on a phone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from exparity.core.grouping import grouped
from exparity.report.svg import Drawing, Scale, Shape, dots, horizontal_axis, line, segments

_WIDTH = 320  # pixels: what a phone has room for
_EDGE = 16  # for half a number of the axis
_PER_GROUP = 11
_ROOM = 8  # above and below the dots of a row
_TICK = 5  # half the height of the best possible level
_BAR = 18
_OVER = 3  # beyond a bar, of the tick at its sum
_PLACES = 3  # digits of a level


@dataclass(frozen=True)
class Level:
    """The level of a group with a method.

    Attributes:
        method: name of the method.
        group: the group.
        level: its mean; NaN where nothing is defined.
        ci_low: lower end of its interval; NaN without one.
        ci_high: upper end of its interval; NaN without one.
        ceiling: the best possible level; NaN where it is unknown.
        verdict: what is concluded of the method's groups, in one word; the same for all of them.
        favoured: the group that a gap favours; empty without a gap, or where none is favoured.
    """

    method: str
    group: str
    level: float
    ci_low: float = math.nan
    ci_high: float = math.nan
    ceiling: float = math.nan
    verdict: str = ""
    favoured: str = ""

    @property
    def text(self) -> str:
        """The group with its numbers."""
        text = f"{self.group} {_number(self.level)}"
        if math.isfinite(self.ci_low) and math.isfinite(self.ci_high):
            text += f" ({_number(self.ci_low)} to {_number(self.ci_high)})"
        if math.isfinite(self.ceiling):
            text += f", best possible about {_number(self.ceiling)}"
        return text


@dataclass(frozen=True)
class GapParts:
    """A gap and the parts that sum to it, in the metric's unit.

    Attributes:
        name: what the gap is of.
        parts: each part by its source, all of them or none finite.
        word: what is written at its end.
    """

    name: str
    parts: Mapping[str, float]
    word: str = ""


@dataclass(frozen=True)
class PlotRow:
    """A row of a plot, which shows its label where a pointer or the keyboard is on it.

    Attributes:
        name: what it is of.
        word: what is written at its end.
        text: all its numbers in words.
        drawing: its marks.
    """

    name: str
    word: str
    text: str
    drawing: Drawing

    @property
    def label(self) -> str:
        """All that it says, in words."""
        return f"{self.name}: {self.text}{'; ' if self.word else ''}{self.word}"


@dataclass(frozen=True)
class RowPlot:
    """Rows above an axis; the template ``_row_plot.html.j2`` shows them.

    Attributes:
        key: classes of a swatch and what they mean.
        rows: the rows.
        axis: the axis below the rows.
    """

    key: Sequence[tuple[str, str]]
    rows: Sequence[PlotRow]
    axis: Drawing


def level_plot(levels: Sequence[Level], *, higher_is_better: bool = True) -> RowPlot | None:
    """Return levels as dots; None if none is finite.

    A row has a dot with its interval for each group, one below the other, and a tick at the best
    possible level of each. The line between the lowest and the highest dot has the colour of the
    group that the method's verdict favours.
    """
    drawn = [level for level in levels if math.isfinite(level.level)]
    if not drawn:
        return None
    groups = list(dict.fromkeys(level.group for level in levels))
    scale = _scale_of(drawn)
    by_method = grouped(drawn, lambda level: level.method)
    sign = 1 if higher_is_better else -1
    ordered = sorted(
        by_method.items(), key=lambda item: -min(sign * level.level for level in item[1])
    )
    key = [(f"swatch group-{place}", group) for place, group in enumerate(groups, start=1)]
    if any(math.isfinite(level.ceiling) for level in drawn):
        key.append(("ceiling-key", "about the best possible"))
    rows = [_row(method, members, groups, scale) for method, members in ordered]
    return RowPlot(key, rows, _axis(scale))


def source_plot(gaps: Sequence[GapParts]) -> RowPlot | None:
    """Return gaps as bars of their parts, stacked from zero to either side; None without any.

    A tick marks the whole gap, the sum of the parts.
    """
    drawn = [gap for gap in gaps if gap.parts and all(map(math.isfinite, gap.parts.values()))]
    if not drawn:
        return None
    sources = list(dict.fromkeys(chain.from_iterable(gap.parts for gap in drawn)))
    sums = [[sum(parts) for parts in _by_sign(gap)] for gap in drawn]
    scale = _scale_over(chain.from_iterable(sums))
    key = [(f"swatch part-{place}", source) for place, source in enumerate(sources, start=1)]
    rows = [_bar(gap, sources, scale) for gap in drawn]
    return RowPlot([*key, ("ceiling-key", "whole gap")], rows, _axis(scale))


def _by_sign(gap: GapParts) -> tuple[list[float], list[float]]:
    """Return the negative and the positive parts."""
    negative = [part for part in gap.parts.values() if part < 0]
    positive = [part for part in gap.parts.values() if part >= 0]
    return negative, positive


def _bar(gap: GapParts, sources: Sequence[str], scale: Scale) -> PlotRow:
    """Return the stacked parts of a gap."""
    height = 2 * _ROOM + _BAR
    shapes = [_grid(scale, height)]
    reached = {False: 0.0, True: 0.0}  # by whether parts are positive
    for place, source in enumerate(sources, start=1):
        part = gap.parts.get(source, 0.0)
        start = reached[part >= 0]
        reached[part >= 0] = start + part
        left, right = scale.places([start, start + part]).tolist()
        corners = [(left, _ROOM), (right, _ROOM), (right, height - _ROOM), (left, height - _ROOM)]
        shapes.append(Shape(f"part part-{place}", line(corners, closed=True)))
    total = sum(gap.parts.values())
    x = scale.place(total)
    ends = [(x, _ROOM - _OVER), (x, height - _ROOM + _OVER)]
    shapes.append(Shape("ceiling", line(ends)))
    parts = [f"{source} {_number(part)}" for source, part in gap.parts.items()]
    text = f"{_number(total)}, of it {', '.join(parts)}"
    return PlotRow(gap.name, gap.word, text, Drawing(_WIDTH, height, shapes))


def _axis(scale: Scale) -> Drawing:
    axis = horizontal_axis(scale, 0, _TICK)
    return Drawing(_WIDTH, axis.height + _ROOM, axis.shapes, axis.words)


def _grid(scale: Scale, height: float) -> Shape:
    """Return the lines of the axis behind a row."""
    places = scale.places([value for value, _ in scale.ticks()]).tolist()
    return Shape("grid", segments(((x, 0.0), (x, height)) for x in places))


def _scale_of(levels: Sequence[Level]) -> Scale:
    numbers = [(level.level, level.ci_low, level.ci_high, level.ceiling) for level in levels]
    return _scale_over(chain.from_iterable(numbers))


def _scale_over(numbers: Iterable[float]) -> Scale:
    """Return an axis that has zero and all finite numbers, and a round value near its end."""
    finite = [number for number in numbers if math.isfinite(number)]
    low = min(0.0, *finite)
    high = max(0.0, *finite)
    scale = Scale(low, high if high > low else low + 1.0, _EDGE, _WIDTH - _EDGE)
    ticks = [value for value, _ in scale.ticks()]
    if len(ticks) < 2:
        return scale
    next_tick = ticks[-1] + (ticks[-1] - ticks[-2])
    is_near = next_tick - scale.high < (ticks[-1] - ticks[-2]) / 2
    return replace(scale, high=next_tick) if is_near else scale


def _row(method: str, levels: Sequence[Level], groups: Sequence[str], scale: Scale) -> PlotRow:
    """Return the dots of a method."""
    height = 2 * _ROOM + _PER_GROUP * len(groups)
    middle = height / 2
    ends = (min(level.level for level in levels), max(level.level for level in levels))
    favoured = levels[0].favoured
    style = f"gap group-{groups.index(favoured) + 1}" if favoured in groups else "gap"
    across = [(x, middle) for x in scale.places(ends).tolist()]
    shapes = [_grid(scale, height), Shape(style, line(across))]
    for level in levels:
        place = groups.index(level.group)
        y = _ROOM + _PER_GROUP * (place + 0.5)
        shapes += _marks(level, f"group-{place + 1}", scale, y)
    text = "; ".join(level.text for level in levels)
    return PlotRow(method, levels[0].verdict, text, Drawing(_WIDTH, height, shapes))


def _marks(level: Level, colour: str, scale: Scale, y: float) -> list[Shape]:
    """Return the dot of a level, its interval, and the best possible level."""
    shapes = []
    if math.isfinite(level.ceiling):
        x = scale.place(level.ceiling)
        shapes.append(Shape(f"ceiling {colour}", line([(x, y - _TICK), (x, y + _TICK)])))
    if math.isfinite(level.ci_low) and math.isfinite(level.ci_high):
        ends = [(x, y) for x in scale.places([level.ci_low, level.ci_high]).tolist()]
        shapes.append(Shape(f"range {colour}", line(ends)))
    shapes.append(Shape(f"dot {colour}", dots([(scale.place(level.level), y)])))
    return shapes


def _number(value: float) -> str:
    return f"{value:.{_PLACES}g}".replace("-", "−")
