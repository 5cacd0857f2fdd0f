"""Style of figures: sizes, colours, fonts, and saving to the same bytes every time.

Colours are those of Okabe and Ito (2008), which differ for all common forms of colour vision.
Whatever colour says is said a second time, by position, shape, hatching or text.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from io import BytesIO
from pathlib import Path
from typing import Literal

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from exparity.core.escaping import visible

WIDTHS = {"1col": 3.3, "2col": 6.9}
"""Width in inches by the name that file names end with: one column of a page, or two."""
FORMATS = {"svg": {"Date": None}, "pdf": {"Producer": None, "CreationDate": None}}
"""By suffix, the metadata that matplotlib must leave out, since they differ between two runs."""

_PIXELS_PER_INCH, _SHOWN_PER_INCH = 180, 130

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
GREY, PALE = "#6b6b6b", "#e9e9e9"

GROUP_COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK, YELLOW)
GROUP_HATCHES = ("", "////////", "......", "xxxxxx", "\\\\\\\\\\\\", "++++++", "oooo", "||||||")
SERIES_COLOURS = (BLACK, ORANGE, SKY, GREEN, PURPLE, BLUE, VERMILION, YELLOW)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


@contextmanager
def house_style() -> Iterator[None]:
    """Draw in exparity's style, whatever the user's own settings of matplotlib are."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        with as_file(files("exparity.report") / "assets" / "figures.mplstyle") as sheet:
            settings = matplotlib.rc_params_from_file(sheet, use_default_template=False)
        matplotlib.rcParams.update(settings)
        yield


class NotebookFigure(Figure):
    """A figure that shows itself where a notebook cell returns it, without pyplot."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """Return it as PNG on white, whatever the theme, larger than on paper, and its size."""
        file = BytesIO()
        with house_style():
            self.savefig(file, format="png", dpi=_PIXELS_PER_INCH, metadata={"Software": None})
        width, height = self.get_size_inches()
        size = {"width": round(_SHOWN_PER_INCH * width), "height": round(_SHOWN_PER_INCH * height)}
        return file.getvalue(), size


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of exactly this size in inches, outside pyplot."""
    return NotebookFigure(figsize=(width, height), layout="constrained")


def save(figure: Figure, path: Path, title: str) -> None:
    """Save a figure in every format without anything that differs between two runs.

    It is to be called within the style that the figure was drawn in.
    """
    for suffix, undated in FORMATS.items():
        metadata = {"Title": visible(title), "Creator": "exparity", **undated}
        figure.savefig(path.with_name(f"{path.name}.{suffix}"), metadata=metadata)
        figure.set_layout_engine(None)  # it is laid out, and letters are everywhere as wide


def tint(colour: str, share: float) -> str:
    """Return a colour mixed with white; translucent ones would hide hatching in SVG."""
    channels = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 - share * (255 - c)):02x}" for c in channels)


def without_line(axes: Axes, side: Literal["x", "y"]) -> None:
    """Take line and tick marks from an axis, and leave its labels."""
    axes.spines["bottom" if side == "x" else "left"].set_visible(False)
    axes.tick_params(axis=side, length=0)
