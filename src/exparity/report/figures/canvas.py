"""New figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of exactly this size in inches; pyplot does not know of it."""
    from exparity.report.figures.notebook import NotebookFigure

    return NotebookFigure(figsize=(width, height), layout="constrained")
