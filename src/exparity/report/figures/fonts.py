"""Copies of the figures' font that are quick to embed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from fontTools.subset import Options, Subsetter, load_font
from matplotlib import rc_context, rcParams
from matplotlib.font_manager import FontProperties, findfont, fontManager

_FAMILY = "exparity"
_LETTERS = (*range(0x20, 0x250), *range(0x370, 0x400), *range(0x2000, 0x2600))
"""Latin and Greek, punctuation, arrows, signs of mathematics, and marks."""
_LEFT_OUT = ["GSUB", "GPOS", "GDEF", "FFTM"]
"""Tables of layout, which take longest to read (``kern`` alone kerns), and one of an editor."""
_NAMES_OF_FAMILY = (1, 16)


@contextmanager
def quick_to_embed() -> Iterator[None]:
    """Draw with a copy of the font that has common letters alone; all others are those of the font.

    matplotlib reads the whole font anew for each PDF and face, which takes longer than to draw.
    """
    families = rcParams["font.family"]
    faces = (
        FontProperties(family=families),
        FontProperties(family=families, weight="bold"),
        FontProperties(family=families, style="italic"),
    )
    with TemporaryDirectory() as folder:
        copies = {}
        for face in faces:
            font = Path(findfont(face))
            copies[font] = str(Path(folder, font.name))
        try:
            for font, copy in copies.items():
                _write_copy(font, copy)
                fontManager.addfont(copy)
            with rc_context({"font.family": [_FAMILY, *families]}):
                yield
        finally:
            fontManager.ttflist = [
                entry for entry in fontManager.ttflist if entry.fname not in copies.values()
            ]


def _write_copy(font: Path, copy: str) -> None:
    options = Options(glyph_names=True, legacy_kern=True)
    options.drop_tables += _LEFT_OUT
    with load_font(font, options) as letters:
        subsetter = Subsetter(options)
        subsetter.populate(unicodes=_LETTERS)
        subsetter.subset(letters)
        for name in letters["name"].names:
            if name.nameID in _NAMES_OF_FAMILY:
                name.string = _FAMILY
        letters.save(copy)
