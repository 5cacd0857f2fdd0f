"""The picture of the page's first screen: the verdict of every cell, one panel per dataset."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Polygon, Rectangle

from exparity.core.escaping import visible
from exparity.report.figures.style import (
    BLACK,
    BLUE,
    GREY,
    PALE,
    VERMILION,
    WIDTHS,
    new_figure,
    tint,
)
from exparity.report.names import fitted
from exparity.report.picture import SIGNS, PicturePanel, Tile
from exparity.report.verdicts import labels_of

AnyPatch = TypeVar("AnyPatch", bound=Patch)
_SIDES = {"a": BLUE, "b": VERMILION}


class _Filling(NamedTuple):
    """How a tile that names no group is filled."""

    colour: str
    line: str = "-"
    hatch: str = ""

    def applied(self, patch: AnyPatch) -> AnyPatch:
        """Return a patch that is filled so, with a thin line around it."""
        patch.set(facecolor=self.colour, edgecolor=GREY, lw=0.4, ls=self.line)
        patch.set_hatch(self.hatch)
        return patch


_FILLED = {
    "good": _Filling(PALE),
    "open": _Filling("white", line=":"),
    "untested": _Filling("white", hatch="////"),
}
_LETTER = 0.052
"""Mean width of a letter of the labels, in inches."""
_NAMES = 0.95
"""Width of the names of the rows, in inches."""
_TILTED = 0.55
"""Height of names of columns that do not fit side by side, in inches."""
_STRONG, _WEAK = 0.45, 0.22
"""Shares of a group's colour in a tile; the weak one where the next training may differ."""


def verdicts_figure(panels: Sequence[PicturePanel], width: float) -> Figure:
    """Draw the picture."""
    most = max(len(panel.metrics) for panel in panels)
    narrow = width <= WIDTHS["1col"] or most > 4
    columns = 1 if narrow or len(panels) == 1 else 2
    rows = math.ceil(len(panels) / columns)
    room = int((width / columns - _NAMES) / most / _LETTER)
    metrics = [name for panel in panels for name in panel.metrics]
    tilted = max(len(word) for name in metrics for word in name.split()) > room
    height = sum(
        0.27 * max(len(panel.lines) for panel in panels[i : i + columns]) + 0.62 + _TILTED * tilted
        for i in range(0, len(panels), columns)
    )
    figure = new_figure(width, height + 0.3)
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat[len(panels) :]:
        axes.set_axis_off()
    for axes, panel in zip(grid.flat, panels, strict=False):
        _panel(axes, panel, room, tilted=tilted)
    figure.legend(handles=_marks(panels), loc="outside lower center", ncols=2 if narrow else 5)
    return figure


def _panel(axes: Axes, panel: PicturePanel, room: int, *, tilted: bool) -> None:
    """Draw a panel whose columns have room for so many letters side by side."""
    for y, line in enumerate(panel.lines):
        for x, tiles in enumerate(line.cells):
            for i, tile in enumerate(tiles):
                left = x - 0.49 + 0.98 * i / len(tiles)
                letters = room if len(tiles) == 1 else 1
                _draw(axes, tile, left, y - 0.47, 0.98 / len(tiles), letters)
    axes.set_xlim(-0.5, len(panel.metrics) - 0.5)
    axes.set_ylim(len(panel.lines) - 0.5, -0.5)
    axes.xaxis.tick_top()
    names = [visible(m) if tilted else fitted(visible(m), room) for m in panel.metrics]
    axes.set_xticks(range(len(panel.metrics)), names)
    if tilted:
        for label in axes.get_xticklabels():
            label.set(rotation=35, ha="left", rotation_mode="anchor")
    axes.set_yticks(
        range(len(panel.lines)), [fitted(visible(line.name), 20) for line in panel.lines]
    )
    for label, line in zip(axes.get_yticklabels(), panel.lines, strict=True):
        label.set_fontstyle("italic" if line.is_random else "normal")
    axes.set_title(visible(f"{panel.name}, {panel.group_a} − {panel.group_b}"))
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)


def _draw(axes: Axes, tile: Tile, x: float, y: float, width: float, room: int) -> None:
    """Draw one tile with its corner at (x, y); in words as far as it has room for letters."""
    height = 0.94
    ends = [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]
    if tile.look == "both":
        axes.add_patch(Polygon([ends[0], ends[1], ends[3]], color=tint(BLUE, _STRONG), lw=0))
        axes.add_patch(Polygon(ends[1:], color=tint(VERMILION, _STRONG), lw=0))
    elif tile.look in _SIDES:
        colour = tint(_SIDES[tile.look], _WEAK if tile.may_change else _STRONG)
        axes.add_patch(Rectangle((x, y), width, height, facecolor=colour, lw=0))
    else:
        axes.add_patch(_FILLED[tile.look].applied(Rectangle((x, y), width, height)))
    size = float(rcParams["font.size"])
    ink = BLACK if tile.look in (*_SIDES, "both", "good") else GREY
    write = partial(axes.text, ha="center", va="center", color=ink)
    centre = x + width / 2
    label = tile.verdict.label if tile.verdict else "Not tested"
    sign = SIGNS[tile.look]
    names = [f"{label}: {visible(tile.favoured)}"] if tile.favoured else [label]
    name = next((n for n in (*names, f"{sign} {label}") if len(n) <= 1.15 * room), sign)
    if len(tile.size) > 1.3 * room:
        write(centre, y + height / 2, sign, size=0.8 * size)
        return
    write(centre, y + 0.34, name, size=0.78 * size, weight="bold")
    write(centre, y + 0.72, tile.size, size=0.7 * size)


def _marks(panels: Sequence[PicturePanel]) -> list[Patch]:
    """Return the meaning of each colour in the picture."""
    looks = {tile.look for panel in panels for tile in panel.tiles()}
    pairs = {(panel.group_a, panel.group_b) for panel in panels}
    a, b = map(visible, pairs.pop()) if len(pairs) == 1 else ("first group", "second group")
    meanings = {
        "a": f"better or higher: {a}",
        "b": f"better or higher: {b}",
        "both": "now one, now the other",
        "good": labels_of("good"),
        "open": labels_of("open"),
        "untested": "not tested",
    }
    return [_mark(look, meaning) for look, meaning in meanings.items() if look in looks]


def _mark(look: str, meaning: str) -> Patch:
    """Return the entry of a look in the legend."""
    label = f"{SIGNS[look]} {meaning}"
    if look in _FILLED:
        return _FILLED[look].applied(Patch(label=label))
    return Patch(color=tint(_SIDES[look], _STRONG) if look in _SIDES else GREY, label=label)
