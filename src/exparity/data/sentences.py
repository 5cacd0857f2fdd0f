"""Sentences of the user's own without groups: a text file with one a line, or a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from exparity.core.errors import InputError, name_list
from exparity.data._names import id_of, is_missing, name_of
from exparity.data._rows import PlacedRow, read_rows, require_file, words_in
from exparity.data.files import text_lines
from exparity.types import Text

_TEXT_SUFFIXES = (".txt", ".txt.gz")


class Sentence(NamedTuple):
    """A sentence.

    Attributes:
        sentence_id: unique within its file: that of a column, or the number of its row or line.
        text: the sentence, whose words blanks separate.
        label: its class; None where the file has none.
    """

    sentence_id: str
    text: Text
    label: str | None


def read_sentences(
    path: Path,
    *,
    text_column: str = "text",
    label_column: str | None = None,
    id_column: str | None = None,
) -> tuple[list[Sentence], Counter[str]]:
    """Read sentences, and count the rows that have none.

    Args:
        path: a text file with a sentence a line, or a table in CSV, TSV, JSON or Parquet.
        text_column: column of the sentence in a table: a string or a list of words.
        label_column: column of the class; no class is read if None.
        id_column: column of an id; sentences have the number of their row or line if None.

    Returns:
        The sentences in their order, and the number of rows left out by reason.

    Raises:
        InputError: the file cannot be read, lacks a column or repeats an id, or a text file has to
            have a column of classes or ids.
    """
    names = [column for column in (label_column, id_column) if column is not None]
    rows = list(_numbered_rows(path, text_column, names))
    digits = len(str(rows[-1][0])) if rows else 0
    sentences: list[Sentence] = []
    left_out: Counter[str] = Counter()
    places: dict[str, str] = {}
    for number, (where, row) in rows:
        words = words_in(where, row, text_column)
        missing = [] if words else [text_column]
        missing += [column for column in names if is_missing(row[column])]
        if missing:
            left_out[f"without {missing[0]}"] += 1
            continue
        name = f"{number:0{digits}d}"
        if id_column is not None:
            name = id_of(where, id_column, row[id_column])
        if name in places:
            raise InputError(
                f"{where}: {id_column} '{name}' is also the id of {places[name]}; rename it"
            )
        places[name] = where
        string = row[text_column]
        text = Text.of(string.strip()) if isinstance(string, str) else Text.of(" ".join(words))
        label = None
        if label_column is not None:
            label = name_of(where, label_column, row[label_column])
        sentences.append(Sentence(name, text, label))
    return sentences, left_out


def group_names(where: str, groups: Sequence[str]) -> tuple[str, ...]:
    """Return groups by the names that tables have them by, on one line each.

    Raises:
        InputError: fewer than two groups, a name that repeats or is empty, or one that is too long
            or holds control characters.
    """
    names = tuple(id_of(where, "a group", group) for group in groups)
    if len(set(names)) < max(2, len(names)) or "" in names:
        listed_names = name_list(names) or "none"
        raise InputError(f"{where}: needs two or more, each once, found {listed_names}")
    return names


def _numbered_rows(
    path: Path, text_column: str, names: list[str]
) -> Iterator[tuple[int, PlacedRow]]:
    """Yield the rows of a table, or the lines of a text file but blank ones, as such rows."""
    if not path.name.lower().endswith(_TEXT_SUFFIXES):
        yield from enumerate(read_rows(path, [text_column, *names]), start=1)
        return
    if names:
        raise InputError(f"{path}: a text file has no columns; write a table for labels and ids")
    require_file(path)
    for number, line in enumerate(text_lines(path), start=1):
        if line.strip():
            yield number, (f"{path}:{number}", {text_column: line})
