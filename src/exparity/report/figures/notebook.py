"""Figures that notebooks show without pyplot."""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure

from exparity.report.figures.style import house_style

_PIXELS_PER_INCH, _SHOWN_PER_INCH = 180, 130


class NotebookFigure(Figure):
    """A figure that shows itself where a notebook cell returns it."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """Return it as PNG on white, whatever the theme, larger than on paper, and its size."""
        file = BytesIO()
        with house_style():
            self.savefig(file, format="png", dpi=_PIXELS_PER_INCH, metadata={"Software": None})
        width, height = (round(_SHOWN_PER_INCH * inches) for inches in self.get_size_inches())
        return file.getvalue(), {"width": width, "height": height}


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of exactly this size in inches, outside pyplot."""
    return NotebookFigure(figsize=(width, height), layout="constrained")
