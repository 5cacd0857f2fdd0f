"""Plots of the page: shapes and words in pixels, coloured by the page's style sheet.

A :class:`Drawing` is SVG in a template (:meth:`Drawing.markup`) or data of a script
(:meth:`Drawing.data`), whose ``charts.svg`` makes the same elements. Colours and widths of lines
are rules of ``page.css`` for the classes of shapes, so that a plot follows the theme of a reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from markupsafe import Markup

from exparity.core.escaping import visible
from exparity.report.ranges import shares_of
from exparity.types import FloatArray

Point = tuple[float, float]
_STEPS_PER_PIXEL = 2
_FLAT = 0.4  # pixels from a straight line that nobody sees
_LABEL_ABOVE = 4  # pixels from the baseline of a number to the middle of its digits
_BESIDE = 6  # pixels between an axis and its numbers
_BELOW = 16
_MOST_DIGITS = 16
_EXACT = 0.001  # of the distance of two ticks


@dataclass(frozen=True)
class Shape:
    """A shape: its classes in the style sheet, and its path data."""

    style: str
    path: str


@dataclass(frozen=True)
class Words:
    """Words beside, before or around a point.

    Attributes:
        style: ``start``, ``middle`` or ``end``: what of the words lies at the point; and classes.
        x: pixels from the left.
        y: pixels from the top, of their baseline.
        text: the words.
    """

    style: str
    x: float
    y: float
    text: str


@dataclass(frozen=True)
class Drawing:
    """A plot or a part of one; later shapes cover earlier ones.

    Attributes:
        width: pixels.
        height: pixels.
        shapes: its shapes.
        words: its words.
    """

    width: float
    height: float
    shapes: Sequence[Shape] = ()
    words: Sequence[Words] = ()

    def data(self) -> list[object]:
        """Return it for a script: width, height, shapes and words."""
        return [
            self.width,
            self.height,
            [[shape.style, shape.path] for shape in self.shapes],
            [[words.style, words.x, words.y, words.text] for words in self.words],
        ]

    def markup(self) -> Markup:
        """Return it as SVG, hidden from screen readers: words beside it say what it shows."""
        parts = [
            Markup('<path class="{}" d="{}"/>').format(shape.style, shape.path)
            for shape in self.shapes
        ]
        parts += [
            Markup('<text class="{}" x="{:g}" y="{:g}">{}</text>').format(
                words.style, words.x, words.y, visible(words.text)
            )
            for words in self.words
        ]
        return self._svg(Markup('aria-hidden="true"'), Markup("").join(parts))

    def frame(self, label: str, place: int) -> Markup:
        """Return its empty SVG, one image to screen readers by its label.

        A script draws in it the drawing of a place in its data.
        """
        image = Markup('role="img" aria-label="{}" data-drawing="{}"').format(visible(label), place)
        return self._svg(image, Markup(""))

    def _svg(self, attributes: Markup, content: Markup) -> Markup:
        size = Markup('width="{0:g}" height="{1:g}" viewBox="0 0 {0:g} {1:g}"').format(
            self.width, self.height
        )
        return Markup('<svg class="plot" {} {}>{}</svg>').format(size, attributes, content)


@dataclass(frozen=True)
class Scale:
    """Where values lie: from ``low`` at pixel ``start`` to ``high`` at ``end``; they differ."""

    low: float
    high: float
    start: float
    end: float

    def places(self, values: FloatArray | Sequence[float]) -> FloatArray:
        """Return the pixels of (n,) values."""
        shares = shares_of(np.asarray(values, dtype=np.float64), self.low, self.high)
        places: FloatArray = self.start + shares * (self.end - self.start)
        return places

    def place(self, value: float) -> float:
        """Return the pixel of a value."""
        return float(self.places([value])[0])

    def ticks(self, most: int = 5) -> list[tuple[float, str]]:
        """Return at most ``most`` + 1 round values and their numbers, as figures have them."""
        from matplotlib.ticker import AutoLocator  # the page alone loads no matplotlib

        locator = AutoLocator()
        locator.set_params(nbins=most)
        values = [float(value) for value in locator.tick_values(self.low, self.high)]
        inside = [value for value in values if self.low <= value <= self.high]
        return list(zip(inside, _numbers(inside), strict=True))


def _numbers(values: Sequence[float]) -> list[str]:
    """Return round values in equal steps as text, with as few digits as are exact enough."""
    largest = max(map(abs, values), default=0.0)
    step = values[1] - values[0] if len(values) > 1 else largest
    kind = "f" if largest == 0 or 1e-4 <= largest < 1e6 else "e"
    texts: list[str] = []
    for digits in range(_MOST_DIGITS):
        texts = [f"{value:.{digits}{kind}}" for value in values]
        errors = [abs(float(text) - value) for text, value in zip(texts, values, strict=True)]
        if max(errors, default=0.0) <= _EXACT * step:
            break
    return [text.replace("-", "−") for text in texts]


def vertical_axis(scale: Scale, left: float, right: float, most: int = 5) -> Drawing:
    """Return lines across the plot at round values, and their numbers on its left."""
    ticks = scale.ticks(most)
    places = scale.places([value for value, _ in ticks])
    lines = [((left, y), (right, y)) for y in places]
    words = [
        Words("end", left - _BESIDE, _rounded(y + _LABEL_ABOVE), text)
        for y, (_, text) in zip(places, ticks, strict=True)
    ]
    return Drawing(right, scale.start, [Shape("grid", segments(lines))], words)


def horizontal_axis(scale: Scale, top: float, bottom: float, most: int = 5) -> Drawing:
    """Return lines down the plot at round values, and their numbers below."""
    ticks = scale.ticks(most)
    places = scale.places([value for value, _ in ticks])
    lines = [((x, top), (x, bottom)) for x in places]
    words = [
        Words("middle", _rounded(x), bottom + _BELOW, text)
        for x, (_, text) in zip(places, ticks, strict=True)
    ]
    return Drawing(scale.end, bottom + _BELOW, [Shape("grid", segments(lines))], words)


def line(points: Iterable[Point], *, closed: bool = False) -> str:
    """Return path data that joins points by straight lines, in whole steps of half a pixel.

    Points within :data:`_FLAT` of the line between others are left out.
    """
    corners = [(_steps(x), _steps(y)) for x, y in _corners(list(points))]
    if not corners:
        return ""
    moves: list[tuple[int, int]] = []
    for (x, y), (next_x, next_y) in pairwise(corners):
        move = (next_x - x, next_y - y)
        if moves and _is_straight(moves[-1], move):
            before = moves.pop()
            move = (before[0] + move[0], before[1] + move[1])
        if move != (0, 0):
            moves.append(move)
    parts = [f"M{_pixels(corners[0][0])}", _pixels(corners[0][1])]
    is_sloping = False
    for right, down in moves:
        was_sloping = is_sloping
        is_sloping = bool(right and down)
        if is_sloping:
            parts += [("" if was_sloping else "l") + _pixels(right), _pixels(down)]
        else:
            parts.append(f"h{_pixels(right)}" if right else f"v{_pixels(down)}")
    return _joined(parts) + "z" * closed


def _corners(points: Sequence[Point]) -> list[Point]:
    """Return the points without which a line would look otherwise (Ramer, Douglas and Peucker)."""
    if len(points) < 3:
        return list(points)
    places = np.asarray(points, dtype=np.float64)
    kept = {0, len(points) - 1}
    parts = [(0, len(points) - 1)]
    while parts:
        first, last = parts.pop()
        if last - first < 2:
            continue
        distances = _distances(places[first + 1 : last], places[first], places[last])
        farthest = int(distances.argmax())
        if distances[farthest] > _FLAT:
            middle = first + 1 + farthest
            kept.add(middle)
            parts += [(first, middle), (middle, last)]
    return [points[place] for place in sorted(kept)]


def _distances(places: FloatArray, start: FloatArray, end: FloatArray) -> FloatArray:
    """Return how far (n, 2) places are from the line between two others, in pixels."""
    way = end - start
    squared = float(way @ way)
    shares = np.clip((places - start) @ way / squared, 0.0, 1.0) if squared else np.zeros(1)
    distances: FloatArray = np.hypot(*(places - start - shares[:, None] * way).T)
    return distances


def _is_straight(move: tuple[int, int], after: tuple[int, int]) -> bool:
    """Return whether one move goes on in the direction of the one before."""
    right, down = move
    next_right, next_down = after
    return right * next_down == down * next_right and right * next_right + down * next_down >= 0


def segments(lines: Iterable[tuple[Point, Point]]) -> str:
    """Return path data of separate lines."""
    return "".join(line(ends) for ends in lines)


def dots(points: Iterable[Point]) -> str:
    """Return path data of dots: lines without length, whose round ends are as wide as the line."""
    return "".join(_joined([f"M{_pixels(_steps(x))}", _pixels(_steps(y)), "h0"]) for x, y in points)


def _steps(pixels: float) -> int:
    """Return a place in whole steps."""
    return round(float(pixels) * _STEPS_PER_PIXEL)


def _rounded(pixels: float) -> float:
    return _steps(pixels) / _STEPS_PER_PIXEL


def _pixels(steps: int) -> str:
    """Return whole steps as pixels, as short as can be."""
    text = f"{steps / _STEPS_PER_PIXEL:g}"
    return text.replace("0.", ".") if abs(steps) < _STEPS_PER_PIXEL else text


def _joined(parts: Sequence[str]) -> str:
    """Return numbers and commands with a blank where one number would run into the next."""
    text = parts[0]
    for part in parts[1:]:
        text += part if part[0] in "-lhv" else f" {part}"
    return text
