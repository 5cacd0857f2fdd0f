"""ROC curves by group: one panel per model and class, one curve per training."""

from __future__ import annotations

from itertools import product

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.typing import LineStyleType

from exparity.core.escaping import visible
from exparity.report.figures.style import GREY, GROUP_COLOURS, new_figure
from exparity.report.names import Names, fitted
from exparity.report.quality import QualityTable

_DASHES: tuple[LineStyleType, ...] = ("-", (0, (5, 2)), (0, (1.5, 2)), (0, (7, 2, 1.5, 2)))
_COLUMNS = {True: 4, False: 2}  # of panels, by whether the figure is wide
_WIDE = 5.0  # inches


def roc_figure(table: QualityTable, width: float, *, names: Names) -> Figure:
    """Draw the curves of all models and classes of a dataset; dashes tell groups apart too."""
    panels = list(product(table.models, table.shown_classes))
    columns = min(_COLUMNS[width > _WIDE], len(panels))
    rows = -(-len(panels) // columns)
    figure = new_figure(width, rows * (width / columns + 0.35) + 0.3)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for axes, (model, class_name) in zip(grid.flat, panels, strict=False):
        _panel(axes, table, model, class_name)
        axes.set_title(fitted(f"{names('model', model)}: {visible(class_name)}", 28))
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    figure.supxlabel("False positive rate")
    figure.supylabel("True positive rate")
    return figure


def _panel(axes: Axes, table: QualityTable, model: str, class_name: str) -> None:
    axes.plot([0, 1], [0, 1], color=GREY, lw=0.5)
    for place, group in enumerate(table.parts):
        colour = GROUP_COLOURS[place % len(GROUP_COLOURS)] if group else GREY
        dashes = _DASHES[place % len(_DASHES)] if group else ":"
        curves = [curve for curve in table.plot(model, class_name) if curve.group == group]
        for curve in curves:
            axes.plot(curve.fpr, curve.tpr, color=colour, linestyle=dashes, lw=0.8)
        if curves:
            label = f"{visible(group or 'all')}, {table.mean_auc(model, class_name, group):.3f}"
            axes.plot([], [], label=label, color=colour, linestyle=dashes, lw=0.8)
    if table.plot(model, class_name):
        axes.legend(loc="lower right")
    axes.set_aspect("equal")
