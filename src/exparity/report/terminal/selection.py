"""What is shown on a terminal, and what the terminal can show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from exparity.core.escaping import visible

if TYPE_CHECKING:
    from rich.text import Text

# First group higher, second group higher; from pale to strong, with black text readable on all.
_SHADES = (("#d6e8f5", "#a9d0ec", "#7db8e2"), ("#fbe0cb", "#f5bd93", "#ee9b5d"))
_OF_SIXTEEN_COLOURS = (("cyan",) * 3, ("yellow",) * 3)
GAP = 2
"""Blanks between columns."""


def text_of(words: str, style: str = "") -> Text:
    """Return words for the terminal as they are: neither control characters nor markup act."""
    from rich.text import Text

    return Text(visible(words), style=style)


@dataclass(frozen=True)
class Selection:
    """What is shown.

    Attributes:
        title: the study's title, if known.
        rows: tests.
        controls: rows of the permutation control that belong to them.
        counted: column that says which tests count as significant.
        correction: its correction: ``none``, ``holm`` or ``bh``.
        alpha: largest p-value that is significant.
        threshold: |d| from which an effect is considerable.
        order: ids by kind in the order of the config; others follow.
        notes: what to know about the tests.
    """

    title: str
    rows: Sequence[Mapping[str, Any]]
    controls: Sequence[Mapping[str, Any]]
    counted: str
    correction: str
    alpha: float
    threshold: float
    order: Mapping[str, Sequence[str]]
    notes: Sequence[str]

    def ids(self, kind: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
        """Return the ids of a kind that rows have, in order."""
        present = dict.fromkeys(row[kind] for row in rows)
        known = [id for id in self.order.get(kind, ()) if id in present]
        return known + [id for id in present if id not in known]


@dataclass(frozen=True)
class Terminal:
    """Where it is shown.

    Attributes:
        width: columns; None if it is no terminal, so that lines may have any length.
        colours: colours that will be seen: 0, 16 or more.
    """

    width: int | None = None
    colours: int = 0

    def shade(self, direction: int, share: float) -> str:
        """Return the colour of a cell by the group that scores higher and the share of seeds."""
        shades = _SHADES if self.colours > 16 else _OF_SIXTEEN_COLOURS
        return shades[direction < 0][min(2, int(3 * share))]
