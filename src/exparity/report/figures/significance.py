"""How many tests are significant, beside random explanations and permuted groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from exparity.report.figures.canvas import new_figure
from exparity.report.figures.names import Names
from exparity.report.figures.style import BLUE, GREY, PALE, VERMILION, WIDTHS, mark, without_line
from exparity.stats.significance import Rows, SignificantShare, count_significant

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

TESTS = {"plain": "Mann–Whitney U", "paired": "signed rank"}
"""What is counted, and the name of its test."""
CONTROLS = {"random": "random explanations", "permuted": "groups permuted within sets"}
_MARKS = {"random": ("s", VERMILION), "permuted": ("D", GREY)}


@dataclass(frozen=True)
class Line:
    """One line of the figure.

    Attributes:
        label: what it counts.
        real: significant tests, by test, beside their controls.
    """

    label: str
    real: Mapping[str, SignificantShare]


def significance_lines(
    rows: Sequence[Mapping[str, Any]],
    names: Names,
    *,
    alpha: float,
    random_rows: Sequence[Mapping[str, Any]] = (),
) -> list[list[Line]]:
    """Count tests in all, by metric and by method."""

    def line(label: str, part: Rows, random: Rows) -> Line:
        return Line(
            label,
            {
                test: count_significant(part, alpha=alpha, counted=test, random_rows=random)
                for test in TESTS
            },
        )

    blocks = [[line("all tests", rows, random_rows)]]
    random = _by("metric", random_rows)
    for kind in ("metric", "method"):
        blocks.append(
            [
                line(names(kind, id), tests, random[id] if kind == "metric" else random_rows)
                for id, tests in _by(kind, rows).items()
            ]
        )
    return blocks


def _by(kind: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    by: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        by[row[kind]].append(row)
    return by


def significance_figure(
    blocks: Sequence[Sequence[Line]], width: float, *, alpha: float, confidence: float = 0.95
) -> Figure:
    """Draw the share of significant tests, with intervals, beside the controls.

    Two columns have room for both tests of matched sets, one for the study's alone.
    """
    lines = [line for block in blocks for line in block]
    tests = [test for test in TESTS if any(line.real[test].n for line in lines)] or [*TESTS][:1]
    if width <= WIDTHS["1col"]:
        tests = tests[:1]
    figure = new_figure(width, 0.155 * (len(lines) + len(blocks) - 1) + 0.85)
    panels = figure.subplots(1, len(tests), squeeze=False, sharex=True, sharey=True)[0]
    controls: dict[str, None] = {}
    for axes, test in zip(panels, tests, strict=True):
        axes.axvline(100 * alpha, color=GREY, lw=0.6, ls=(0, (3, 2)))
        y, ticks = 0.0, []
        for block in blocks:
            for line in block:
                controls |= dict.fromkeys(_draw(axes, y, line.real[test], confidence))
                ticks.append(y)
                y += 1
            y += 0.6
        axes.set_yticks(ticks, [line.label for line in lines])
        axes.set_title(TESTS[test])
        axes.set_xlabel("significant tests, %")
        axes.grid(axis="x")
        without_line(axes, "y")
    panels[0].set_ylim(y - 1.0, -0.7)
    panels[0].set_xlim(-2, 102)
    columns = 2 if width <= WIDTHS["1col"] else 4
    figure.legend(handles=_marks(controls, alpha), loc="outside upper left", ncols=columns)
    return figure


def _draw(axes: Axes, y: float, share: SignificantShare, confidence: float) -> Iterable[str]:
    """Draw one line; yield the controls that it has."""
    if share.n:
        low, high = share.interval(confidence)
        axes.barh(y, 100 * share.share, height=0.62, color=PALE, zorder=1)
        axes.plot([100 * low, 100 * high], [y - 0.08] * 2, color=BLUE, lw=1, zorder=3)
        axes.plot(100 * share.share, y - 0.08, "o", color=BLUE, ms=3.2, zorder=4)
    for i, (control, (marker, colour)) in enumerate(_MARKS.items()):
        beside: SignificantShare | None = getattr(share, control)
        if beside and beside.n:
            low, high = beside.interval(confidence)
            at = y + 0.12 + 0.16 * i
            axes.plot([100 * low, 100 * high], [at, at], color=colour, lw=0.8, zorder=3)
            style: dict[str, Any] = {"mfc": "white", "mew": 0.6, "ms": 2.6, "zorder": 4}
            axes.plot(100 * beside.share, at, marker, color=colour, **style)
            yield control


def _marks(controls: Container[str], alpha: float) -> list[Line2D]:
    marks = [mark("explanations", "o", BLUE)]
    for control, (shape, colour) in _MARKS.items():
        if control in controls:
            marks.append(mark(CONTROLS[control], shape, colour, ms=3, mfc="white", mew=0.6))
    return [*marks, mark(f"α = {alpha:g}", "", GREY, lw=0.6, ls=(0, (3, 2)))]
