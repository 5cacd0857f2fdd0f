"""Model bias: how the classifiers themselves treat the groups, over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from exparity.core.escaping import visible
from exparity.report.bias import QUANTITIES, SIGNED, Declared
from exparity.report.figures.canvas import new_figure
from exparity.report.figures.names import Names, fitted
from exparity.report.figures.style import (
    BLACK,
    GREY,
    GROUP_COLOURS,
    MARKERS,
    PALE,
    WIDTHS,
    mark,
    without_line,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

BY_GROUP = ("accuracy", "tpr", "tnr")
OF_PAIRS = ("apd", "apd_unpaired", "probability_gap")
_SHORT = {
    "tpr": "True positive rate,\n{class_name}",
    "tnr": "True negative rate,\n{class_name}",
    "apd": "Average prediction\ndifference, matched",
    "apd_unpaired": "Average prediction\ndifference, unmatched",
    "probability_gap": "Mean probability,\n{a} − {b}",
}

Rows = Sequence[Mapping[str, Any]]


def bias_figure(
    rows: Rows, declared: Declared, models: Sequence[str], width: float, names: Names
) -> Figure:
    """Draw the bias of one dataset's models, from the rows of its bias artefacts."""
    panels = _panels(rows, declared)
    columns = min(2 if width <= WIDTHS["1col"] else 6, len(panels))
    lines = -(-len(panels) // columns)
    slot = max(0.2, 0.09 * len(declared.groups))
    figure = new_figure(width, lines * (slot * len(models) + 0.55) + 0.3)
    grid = figure.subplots(lines, columns, squeeze=False, sharey=True)
    for axes in grid.flat[len(panels) :]:
        axes.set_axis_off()
    for axes, (quantity, class_name) in zip(grid.flat, panels, strict=False):
        _panel(axes, rows, declared, models, quantity, class_name)
    grid[0, 0].set_yticks(range(len(models)), [fitted(names("model", m), 18) for m in models])
    grid[0, 0].set_ylim(len(models) - 0.5, -0.5)
    columns = 3 if width <= WIDTHS["1col"] else 6
    figure.legend(handles=_marks(rows, declared), loc="outside upper left", ncols=columns)
    return figure


def _panels(rows: Rows, declared: Declared) -> list[tuple[str, str]]:
    """Return (quantity, class) of what is defined: rates of the last class, the true one's else."""
    wanted = [("accuracy", "")]
    if len(declared.classes) == 2:
        wanted += [("tpr", declared.classes[-1]), ("tnr", declared.classes[-1])]
    wanted += [(quantity, "") for quantity in OF_PAIRS]
    defined = {(r["quantity"], r["class_name"]) for r in rows if r["value"] == r["value"]}
    if ("apd", "") in defined:
        defined.discard(("apd_unpaired", ""))
    return [panel for panel in wanted if panel in defined]


def _panel(
    axes: Axes,
    rows: Rows,
    declared: Declared,
    models: Sequence[str],
    quantity: str,
    class_name: str,
) -> None:
    chosen = [r for r in rows if (r["quantity"], r["class_name"]) == (quantity, class_name)]
    if quantity in BY_GROUP:
        lines: list[tuple[str, str]] = [(group, "") for group in declared.groups]
    else:
        lines = list(dict.fromkeys((r["group"], r["group_b"]) for r in chosen))
    for y, model in enumerate(models):
        for i, line in enumerate(lines):
            key = (model, *line)
            of_line = [r for r in chosen if (r["model"], r["group"], r["group_b"]) == key]
            at = y + (i - (len(lines) - 1) / 2) * 0.6 / len(lines)
            _seeds(axes, at, of_line, i, quantity in BY_GROUP)
        if y:
            axes.axhline(y - 0.5, color=PALE, lw=0.4)
    if quantity in SIGNED:
        axes.axvline(0, color=GREY, lw=0.5)
    a, b = lines[0] if len(lines) == 1 else ("first", "second")
    title = _SHORT.get(quantity, QUANTITIES[quantity])
    class_name, a, b = map(visible, (class_name, a, b))
    axes.set_title(title.format(class_name=class_name, a=a, b=b))
    axes.margins(x=0.12)
    axes.grid(axis="x")
    axes.locator_params(axis="x", nbins=3)
    without_line(axes, "y")


def _seeds(axes: Axes, y: float, rows: Rows, i: int, by_group: bool) -> None:
    """Draw the mean over seeds, and each seed as a tick; a cross marks a collapsed one."""
    rows = [row for row in rows if row["value"] == row["value"]]
    if not rows:
        return
    colour = GROUP_COLOURS[i % len(GROUP_COLOURS)] if by_group else BLACK
    values = [row["value"] for row in rows]
    axes.plot([min(values), max(values)], [y, y], color=colour, lw=0.5)
    for row in rows:
        shape, size = ("x", 3.4) if "collapsed" in row["flags"] else ("|", 4.0)
        axes.plot(row["value"], y, shape, color=colour, ms=size, mew=0.7)
    mean, shape = sum(values) / len(values), MARKERS[i % len(MARKERS)]
    axes.plot(mean, y, shape, color=colour, ms=3.2, zorder=3)


def _marks(rows: Rows, declared: Declared) -> list[Line2D]:
    marks = [
        mark(visible(group), MARKERS[i % len(MARKERS)], GROUP_COLOURS[i % len(GROUP_COLOURS)])
        for i, group in enumerate(declared.groups)
    ]
    marks.append(mark("one seed", "|", GREY, ms=4))
    if any("collapsed" in row["flags"] for row in rows):
        marks.append(mark("predicts one class", "x", GREY, ms=3.4))
    return marks
