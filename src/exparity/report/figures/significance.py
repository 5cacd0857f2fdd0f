"""How many tests are significant, beside how many are when groups mean nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from exparity.report.figures.canvas import new_figure
from exparity.report.figures.names import Names
from exparity.report.figures.style import BLUE, GREY, PALE, VERMILION, WIDTHS, mark, without_line
from exparity.stats.significance import (
    ControlRate,
    SignificantShare,
    control_rates,
    count_significant,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

TESTS = {"mann_whitney": ("plain", "Mann–Whitney U"), "wilcoxon": ("paired", "signed rank")}
"""Test of the control to what counts of the same test, and its name."""
SCHEMES = {"within_sets": "groups permuted within sets", "across_rows": "groups permuted"}
_MARKS = {"within_sets": ("D", VERMILION), "across_rows": ("v", GREY)}


@dataclass(frozen=True)
class Line:
    """One line of the figure.

    Attributes:
        label: what it counts.
        real: significant tests, by test.
        controls: the same with permuted groups, by test and scheme.
    """

    label: str
    real: Mapping[str, SignificantShare]
    controls: Mapping[tuple[str, str], ControlRate]


def significance_lines(
    rows: Sequence[Mapping[str, Any]],
    controls: Sequence[Mapping[str, Any]],
    names: Names,
    *,
    alpha: float,
) -> list[list[Line]]:
    """Count tests in all, by metric and by method.

    Args:
        rows: rows of the tests or disparity artefact.
        controls: rows of the controls artefact.
        names: what things are called.
        alpha: largest p-value that is significant.

    Returns:
        Three blocks of lines.
    """
    blocks = [[_line("all tests", rows, controls, alpha)]]
    for kind in ("metric", "method"):
        tests, permuted = _by(kind, rows), _by(kind, controls)
        blocks.append(
            [_line(names(kind, id), tests[id], permuted[id], alpha) for id in list(tests)]
        )
    return blocks


def _by(kind: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    by: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        by[row[kind]].append(row)
    return by


def _line(
    label: str,
    rows: Sequence[Mapping[str, Any]],
    controls: Sequence[Mapping[str, Any]],
    alpha: float,
) -> Line:
    real = {
        test: count_significant(rows, alpha=alpha, counted=counted)
        for test, (counted, _) in TESTS.items()
    }
    rates = {(rate.test, rate.scheme): rate for rate in control_rates(controls)}
    return Line(label, real, rates)


def significance_figure(
    blocks: Sequence[Sequence[Line]], width: float, *, alpha: float, confidence: float = 0.95
) -> Figure:
    """Draw the share of significant tests, with intervals, beside the permutation control.

    Two columns have room for both tests of matched sets, one for the study's alone.

    Args:
        blocks: what :func:`significance_lines` returned.
        width: of the figure, in inches.
        alpha: the share expected of a control.
        confidence: coverage of the intervals, in (0, 1).
    """
    lines = [line for block in blocks for line in block]
    tests = [test for test in TESTS if any(line.real[test].n for line in lines)]
    if width <= WIDTHS["1col"]:
        tests = tests[:1]
    figure = new_figure(width, 0.155 * (len(lines) + len(blocks) - 1) + 0.85)
    panels = figure.subplots(1, len(tests), squeeze=False, sharex=True, sharey=True)[0]
    schemes: dict[str, None] = {}
    for axes, test in zip(panels, tests, strict=True):
        axes.axvline(100 * alpha, color=GREY, lw=0.6, ls=(0, (3, 2)))
        y, ticks = 0.0, []
        for block in blocks:
            for line in block:
                schemes |= dict.fromkeys(_draw(axes, y, line, test, confidence))
                ticks.append(y)
                y += 1
            y += 0.6
        axes.set_yticks(ticks, [line.label for line in lines])
        axes.set_title(TESTS[test][1])
        axes.set_xlabel("significant tests, %")
        axes.grid(axis="x")
        without_line(axes, "y")
    panels[0].set_ylim(y - 1.0, -0.7)
    panels[0].set_xlim(-2, 102)
    columns = 2 if width <= WIDTHS["1col"] else 4
    figure.legend(handles=_marks(list(schemes), alpha), loc="outside upper left", ncols=columns)
    return figure


def _draw(axes: Axes, y: float, line: Line, test: str, confidence: float) -> Iterable[str]:
    """Draw one line; yield the schemes of the control that it has."""
    share = line.real[test]
    if share.n:
        low, high = share.interval(confidence)
        axes.barh(y, 100 * share.share, height=0.62, color=PALE, zorder=1)
        axes.plot([100 * low, 100 * high], [y - 0.08] * 2, color=BLUE, lw=1, zorder=3)
        axes.plot(100 * share.share, y - 0.08, "o", color=BLUE, ms=3.2, zorder=4)
    for i, (scheme, (marker, colour)) in enumerate(_MARKS.items()):
        rate = line.controls.get((test, scheme))
        if rate is not None and rate.n_permutations:
            at = y + 0.12 + 0.16 * i
            axes.plot([100 * rate.low, 100 * rate.high], [at, at], color=colour, lw=0.8, zorder=3)
            style: dict[str, Any] = {"mfc": "white", "mew": 0.6, "ms": 2.6, "zorder": 4}
            axes.plot(100 * rate.rate, at, marker, color=colour, **style)
            yield scheme


def _marks(schemes: Sequence[str], alpha: float) -> list[Line2D]:
    marks = [mark("groups as they are", "o", BLUE)]
    for scheme, (shape, colour) in _MARKS.items():
        if scheme in schemes:
            label = SCHEMES[scheme]
            if len(schemes) > 1 and scheme == "across_rows":
                label += " over all rows"
            marks.append(mark(label, shape, colour, ms=3, mfc="white", mew=0.6))
    return [*marks, mark(f"α = {alpha:g}", "", GREY, lw=0.6, ls=(0, (3, 2)))]
