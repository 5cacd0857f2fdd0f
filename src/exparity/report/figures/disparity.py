"""The disparity table as a picture: methods × metrics, one panel a model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from exparity.core.escaping import visible
from exparity.core.formats import signed
from exparity.report.figures.canvas import new_figure
from exparity.report.figures.names import Names, fitted
from exparity.report.figures.style import (
    BLUE,
    GREY,
    PALE,
    VERMILION,
    WIDTHS,
    diverging,
    ink_on,
    without_frame,
)
from exparity.report.tables import Cell, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

FULL = 1.0
"""|d| from which the colour grows no stronger."""


def disparity_figure(table: Table, width: float, names: Names) -> Figure:
    """Draw the table of one dataset and two groups."""
    columns = 1 if width <= WIDTHS["1col"] or len(table.models) == 1 else 2
    rows = math.ceil(len(table.models) / columns)
    spare = rows * columns - len(table.models)
    height = rows * (0.235 * len(table.methods) + 0.2) + (0.75 if spare else 1.25)
    figure = new_figure(width, height)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    # A row that is not full is the first, so that all columns end with the names of metrics.
    free = list(grid[0, columns - spare :]) if spare else []
    panels = [axes for axes in grid.flat if axes not in free]
    for axes, model in zip(panels, table.models, strict=True):
        disparity_panel(axes, table, model, names)
        axes.tick_params(labelbottom=axes in grid[-1], labelleft=axes in grid[:, 0])
    for axes in free:
        axes.set_axis_off()
    colour_bar(figure, table, panels, free[0] if free else None)
    return figure


def disparity_panel(axes: Axes, table: Table, model: str, names: Names) -> None:
    """Draw one model of a table.

    A cell says the mean d over all seeds, with ± where some have the opposite sign, and the seeds
    with a significant difference of those tested. It is coloured if there is such a seed, bold if
    the effect is considerable, and has a star if a test is flagged.
    """
    for y, method in enumerate(table.methods):
        for x, metric in enumerate(table.metrics):
            _cell(axes, x, y, table.cells.get((model, method, metric)))
    axes.set_xlim(-0.5, len(table.metrics) - 0.5)
    axes.set_ylim(len(table.methods) - 0.5, -0.5)
    axes.set_xticks(
        range(len(table.metrics)),
        [names("metric", m) for m in table.metrics],
        rotation=40,
        ha="right",
        rotation_mode="anchor",
    )
    axes.set_yticks(
        range(len(table.methods)), [fitted(names("method", m), 20) for m in table.methods]
    )
    axes.set_title(names("model", model))
    without_frame(axes)
    axes.set_facecolor(PALE)


def _cell(axes: Axes, x: int, y: int, cell: Cell | None) -> None:
    from matplotlib import rcParams
    from matplotlib.colors import Normalize
    from matplotlib.patches import Rectangle

    size = float(rcParams["font.size"])
    middle: dict[str, Any] = {"ha": "center", "va": "center"}
    if cell is None:
        axes.text(x, y, "–", color=GREY, size=0.85 * size, **middle)
        return
    colour = (1.0, 1.0, 1.0, 1.0)
    d = cell.summary.mean_d
    if cell.significant and not math.isnan(d):
        strength = Normalize(-FULL, FULL)(max(-FULL, min(FULL, d)))
        colour = diverging(VERMILION, BLUE)(strength)
    corner = (x - 0.5, y - 0.5)
    axes.add_patch(Rectangle(corner, 1, 1, facecolor=colour, edgecolor="white", lw=0.8))
    middle["color"] = ink_on(colour) if cell.significant else GREY
    middle["weight"] = "bold" if cell.considerable else "normal"
    effect = "–" if math.isnan(d) else signed(d) + " ±" * cell.summary.both_signs
    count = f"{cell.significant}/{cell.total}{'*' if cell.starred else ''}"
    axes.text(x, y - 0.16, effect, size=0.86 * size, **middle)
    axes.text(x, y + 0.24, count, size=0.71 * size, **middle)


def colour_bar(
    figure: Figure | SubFigure, table: Table, panels: Sequence[Axes], free: Axes | None = None
) -> None:
    """Draw the scale, with the group that each end stands for, below panels or in a free place."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    colours = ScalarMappable(Normalize(-FULL, FULL), diverging(VERMILION, BLUE))
    if free is not None:
        inset = free.inset_axes((0.1, 0.45, 0.8, 0.06))
        place: dict[str, Any] = {"cax": inset, "orientation": "horizontal"}
    else:
        place = {"ax": panels, "location": "bottom", "fraction": 0.03, "aspect": 40}
        place |= {"shrink": 0.7, "pad": 0.02}
    bar = figure.colorbar(colours, extend="both", **place)
    if bar.solids is not None:  # an image by default
        bar.solids.set_rasterized(False)
    bar.outline.set_linewidth(0.4)
    ticks = [-FULL, -FULL / 2, 0, FULL / 2, FULL]
    labels = [f"{t:g}".replace("-", "−") for t in ticks]
    a, b = visible(table.group_a), visible(table.group_b)
    labels[0] += f"\n{b} higher"
    labels[-1] += f"\n{a} higher"
    bar.set_ticks(ticks, labels=labels)
    bar.set_label(f"Cohen’s d, {a} − {b}")
    bar.ax.xaxis.set_label_position("top")
