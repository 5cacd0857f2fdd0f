"""Tables of words that stand for one another, one column a group: files of the user's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from exparity.core.errors import InputError
from exparity.data._rows import csv_rows


def read_word_rows(path: Path, groups: Sequence[str]) -> list[tuple[str, ...]]:
    """Read the words of each row of a CSV file, in the order of the groups.

    Args:
        path: a CSV file whose header names the groups; other columns are not read.
        groups: the groups, each a column.

    Raises:
        InputError: no such file, a missing column, an empty cell, no row, or no valid CSV; names
            file and line.
    """
    if not path.is_file():
        raise InputError(
            f"{path.absolute()}: no such file; paths are relative to the current folder"
        )
    rows = []
    for where, row in csv_rows(path, groups):
        words = tuple(row[group].strip() for group in groups)
        if not all(words):
            empty = groups[words.index("")]
            raise InputError(f"{where}: no word for '{empty}'; give one, or remove the row")
        rows.append(words)
    if not rows:
        raise InputError(f"{path}: has no rows; give the words of each group")
    return rows
