"""The plots of the page: distributions by group, effects by seed, and ROC curves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import chain

from exparity.report.quality import QualityTable
from exparity.report.spreads import Spread, range_of, violin_of
from exparity.report.svg import (
    Drawing,
    Scale,
    Shape,
    Words,
    dots,
    horizontal_axis,
    line,
    segments,
    vertical_axis,
)
from exparity.stats.seeds import SeedTest

_AXIS = 42  # pixels for the numbers of a vertical axis
_PANEL = 154  # two beside each other in the dialog of a phone
_PER_GROUP = 44
_PANEL_HEIGHT = 190
_EDGE = 8
_EFFECTS = 300
_SEED = 62
_ROW = 24
_CROSS = 4
_SQUARE = 256
_SQUARE_AXIS = 30
_CURVES = 3  # looks of curves in the style sheet


def violins_axis(spreads: Iterable[Spread | None], n_groups: int) -> Drawing | None:
    """Return the axis of a panel that holds all these spreads; None if there are none."""
    scale = _scale_of(spreads)
    if scale is None:
        return None
    right = _AXIS + _panel_width(n_groups)
    axis = vertical_axis(scale, _AXIS, right)
    return Drawing(right, _PANEL_HEIGHT, axis.shapes, axis.words)


def violins(spreads: Sequence[Spread | None], over: Iterable[Spread | None]) -> list[Shape]:
    """Return the violins of groups, to lie on the axis of the spreads ``over`` which they are.

    A violin is a shape of class ``group-1`` and so on, with a box on it.
    """
    scale = _scale_of(over)
    if scale is None:
        return []
    width = _panel_width(len(spreads))
    slots = Scale(-0.5, 0.5, _AXIS, _AXIS + width)
    shapes = []
    boxes = []
    medians = []
    for index, spread in enumerate(spreads):
        if spread is None:
            continue
        violin = violin_of(spread, 0.0, index, len(spreads))
        heights = scale.places(violin.at)
        left = slots.places(violin.left)
        right = slots.places(violin.right)
        around = [*zip(left, heights, strict=True), *zip(right[::-1], heights[::-1], strict=True)]
        if spread.is_flat:
            around = [(left.min(), heights[0]), (right.max(), heights[0])]
        shapes.append(Shape(f"group-{index + 1}", line(around, closed=True)))
        low, q1, median, q3, high = scale.places(spread.numbers).tolist()
        centre = slots.place(violin.centre)
        half = violin.half_box * width
        sides = (centre - half, centre + half)
        boxes.append(segments([((centre, low), (centre, q1)), ((centre, q3), (centre, high))]))
        corners = [(sides[0], q1), (sides[1], q1), (sides[1], q3), (sides[0], q3)]
        boxes.append(line(corners, closed=True))
        medians.append(((sides[0], median), (sides[1], median)))
    return [*shapes, Shape("box", "".join(boxes)), Shape("median", segments(medians))]


def _scale_of(spreads: Iterable[Spread | None]) -> Scale | None:
    limits = range_of(spreads)
    return None if limits is None else Scale(*limits, _PANEL_HEIGHT - _EDGE, _EDGE)


def _panel_width(n_groups: int) -> int:
    return max(_PANEL, _PER_GROUP * n_groups) - _AXIS


def effects_chart(tests: Sequence[SeedTest], threshold: float, words: str) -> Drawing | None:
    """Return Cohen's d of every seed with its interval; None if all are undefined.

    Dots are significant effects, crosses the others; ``words`` say what d is.
    """
    defined = [test for test in tests if math.isfinite(test.cohens_d)]
    if not defined:
        return None
    ends = [(test.cohens_d, test.d_ci_low, test.d_ci_high) for test in defined]
    finite = [end for end in chain.from_iterable(ends) if math.isfinite(end)]
    low = min(-threshold, *finite)
    high = max(threshold, *finite)
    room = (high - low) / 20
    bottom = _EDGE + _ROW * len(defined)
    scale = Scale(low - room, high + room, _SEED, _EFFECTS - _EDGE)
    axis = horizontal_axis(scale, _EDGE, bottom)
    heights = [_EDGE + _ROW * (place + 0.5) for place in range(len(defined))]
    marks = list(zip(defined, heights, strict=True))
    shapes = [
        _band(scale, threshold, bottom),
        *axis.shapes,
        Shape("zero", line([(scale.place(0.0), _EDGE), (scale.place(0.0), bottom)])),
        Shape("interval", segments(_interval(t, scale, y) for t, y in marks if _has_ends(t))),
        Shape("dots", dots((scale.place(t.cohens_d), y) for t, y in marks if t.significant)),
        Shape("crosses", "".join(_cross(t, scale, y) for t, y in marks if not t.significant)),
    ]
    names = [Words("end", _SEED - _EDGE, y + 4, f"seed {test.seed}") for test, y in marks]
    title = Words("middle quiet", (_SEED + _EFFECTS) / 2, bottom + 34, words)
    drawn = [shape for shape in shapes if shape.path]
    return Drawing(_EFFECTS, bottom + 40, drawn, [*axis.words, *names, title])


def _band(scale: Scale, threshold: float, bottom: float) -> Shape:
    left, right = scale.places([-threshold, threshold]).tolist()
    corners = [(left, _EDGE), (right, _EDGE), (right, bottom), (left, bottom)]
    return Shape("band", line(corners, closed=True))


def _has_ends(test: SeedTest) -> bool:
    return math.isfinite(test.d_ci_low) and math.isfinite(test.d_ci_high)


def _interval(
    test: SeedTest, scale: Scale, y: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    return (scale.place(test.d_ci_low), y), (scale.place(test.d_ci_high), y)


def _cross(test: SeedTest, scale: Scale, y: float) -> str:
    """Return a cross at the effect of a test."""
    x = scale.place(test.cohens_d)
    strokes = [
        ((x - _CROSS, y - _CROSS), (x + _CROSS, y + _CROSS)),
        ((x - _CROSS, y + _CROSS), (x + _CROSS, y - _CROSS)),
    ]
    return segments(strokes)


def roc_chart(table: QualityTable, model: str, class_name: str) -> Drawing:
    """Return the ROC curves of a model and class: a shape for each group, with all its seeds.

    The class of a shape is :func:`curve_style`.
    """
    bottom = _SQUARE - _SQUARE_AXIS + _EDGE
    across = Scale(0.0, 1.0, _SQUARE_AXIS, _SQUARE - _EDGE)
    upwards = Scale(0.0, 1.0, bottom, bottom - (_SQUARE - _EDGE - _SQUARE_AXIS))
    axes = [
        horizontal_axis(across, upwards.end, bottom, most=2),
        vertical_axis(upwards, across.start, across.end, most=2),
    ]
    corners = [(across.start, bottom), (across.end, upwards.end)]
    paths: dict[str, str] = {}
    for curve in table.plot(model, class_name):
        places = zip(across.places(curve.fpr), upwards.places(curve.tpr), strict=True)
        paths[curve.group] = paths.get(curve.group, "") + line(places)
    shapes = [shape for axis in axes for shape in axis.shapes]
    shapes.append(Shape("grid", line(corners)))
    shapes += [Shape(curve_style(table, group), path) for group, path in paths.items()]
    words = [words for axis in axes for words in axis.words]
    return Drawing(_SQUARE, _SQUARE + _EDGE, shapes, words)


def curve_style(table: QualityTable, group: str) -> str:
    """Return the class of a group's curves; of all examples if empty."""
    return f"curve-{table.parts.index(group) % _CURVES + 1}" if group else "curve-all"
