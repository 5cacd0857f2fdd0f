"""Tables of corresponding words of the user's own, with one column per group."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from exparity.core.errors import InputError
from exparity.data._rows import read_rows


def read_word_rows(path: Path, groups: Sequence[str]) -> list[tuple[str, ...]]:
    """Read the words of each row of a table, in the order of the groups."""
    rows = []
    for where, row in read_rows(path, groups):
        words = tuple(str(row[group] or "").strip() for group in groups)
        if not all(words):
            empty = groups[words.index("")]
            raise InputError(f"{where}: no word for '{empty}'; give one, or remove the row")
        rows.append(words)
    if not rows:
        raise InputError(f"{path}: has no rows; give the words of each group")
    return rows
