"""Rows of tables in the usual formats, each with its place in the file for messages."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exparity.core.errors import InputError, did_you_mean, shown
from exparity.core.strict import parse_json
from exparity.data.files import (
    COLUMNAR,
    columnar_schema,
    read_columnar,
    read_jsonl,
    text_lines,
)

if TYPE_CHECKING:
    import pyarrow as pa

PlacedRow = tuple[str, dict[str, Any]]
"""Place of a row (``file:line``), and its values by column."""

_SEPARATOR = re.compile(r"(?i)sep=(.)[\r\n]*")
_QUOTED = re.compile('"[^"]*"')
_AFTER_CARRIAGE_RETURN = re.compile(r"(?<=\r)(?!\n|$)")
_WORKBOOKS = (".xlsx", ".xls", ".ods")
_MARKS = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1}
_MAX_CELL = 1 << 30
"""Longest CSV cell in characters; Python's own limit, 131,072, is below long documents."""


def read_rows(path: Path, columns: Sequence[str]) -> Iterator[PlacedRow]:
    """Yield the rows of a CSV, TSV, JSON, JSONL, Parquet or Arrow file, by its suffix.

    All but Parquet and Arrow may be compressed, with ``.gz`` after the suffix. CSV and TSV values
    are text as written: ``01`` and ``NA`` stay what they are. A column may be one inside another,
    such as ``meta.age``. Classes that files of ``datasets`` hold as numbers come by their names.
    """
    if path.is_dir():
        kinds = (suffix for suffix in (*COLUMNAR, *_READERS) if any(path.glob(f"*{suffix}")))
        pattern = f"{path}/*{next(kinds, '.parquet')}"
        raise InputError(f"{path}: is a folder; name its files, as in {pattern}")
    reader = _READERS.get(Path(path.name.lower().removesuffix(".gz")).suffix)
    if reader is None and path.suffix.lower() in _WORKBOOKS:
        raise InputError(f"{path}: a workbook is not read; save its sheet as CSV UTF-8")
    if reader is None:
        raise InputError(f"{path}: unknown kind of table; use one of {', '.join(_READERS)}")
    require_file(path)
    return reader(path, columns)


def require_file(path: Path) -> None:
    """Check that a file of the user's own is there."""
    if not path.is_file():
        raise InputError(
            f"{path.absolute()}: no such file; paths are relative to the current folder"
        )


def csv_rows(
    path: Path, columns: Sequence[str], delimiter: str | None = None
) -> Iterator[PlacedRow]:
    """Yield the rows of a CSV file, whose delimiter may be in a line ``sep=;`` or in its header."""
    csv.field_size_limit(_MAX_CELL)
    lines = (part for line in text_lines(path) for part in _AFTER_CARRIAGE_RETURN.split(line))
    first = next(lines, "")
    skipped = 0
    if marked := _SEPARATOR.fullmatch(first):  # a line of spreadsheets, no header
        delimiter = marked[1]
        first = next(lines, "")
        skipped = 1
    delimiter = delimiter or max(",;\t|", key=_QUOTED.sub("", first).count)
    reader = csv.reader(chain([first], lines), delimiter=delimiter, strict=True)
    line = 1 + skipped
    try:
        header = next(reader, [])
        _check_columns(path, columns, header)
        places = [header.index(name) for name in columns]
        line = reader.line_num + 1 + skipped
        for cells in reader:
            where = f"{path}:{line}"
            line = reader.line_num + 1 + skipped
            if not cells:
                continue
            if len(cells) != len(header):
                raise InputError(
                    f"{where}: {len(cells)} cells, but the header has {len(header)}; put text "
                    "that holds the separator or a line break in double quotes"
                )
            if delimiter == "\t" and any("\t" in cell and "\n" in cell for cell in cells):
                raise InputError(
                    f"{where}: a double quote begins a cell that holds whole rows; put the cell in "
                    "double quotes and double those within"
                )
            yield where, {name: cells[i] for name, i in zip(columns, places, strict=True)}
    except csv.Error as error:
        raise InputError(f"{path}:{line}: not valid CSV ({error})") from None


def _check_columns(path: Path, columns: Sequence[str], file_columns: Sequence[str]) -> None:
    """Check that each column occurs once."""
    for name in columns:
        if name not in file_columns:
            raise no_column(str(path), name, file_columns)
        if file_columns.count(name) > 1:
            raise InputError(f"{path}: several columns are '{name}'; rename all but one")


def words_in(where: str, row: Mapping[str, object], column: str) -> list[str]:
    """Return the words of a row's text: a string, split at blanks, or a list of words as it is."""
    value = row[column]
    words = value.split() if isinstance(value, str) else value or []
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise InputError(f"{where}: {column} must be a string or a list of words, found {value!r}")
    if any("\0" in word for word in words):  # as UTF-16 leaves them in what is read as UTF-8
        raise InputError(f"{where}: {column} holds NUL characters; is it UTF-8?")
    return words


def marks_in(where: str, column: str, written: object) -> list[int]:
    """Return the marks of a cell, a 0 or 1 a word: a list, or text such as ``[0, 1]``."""
    marks = re.findall(r"[^\s,\[\]]+", written) if isinstance(written, str) else written
    parsed = (
        [_MARKS.get(str(mark).lower()) for mark in marks] if isinstance(marks, list) else [None]
    )
    values = [mark for mark in parsed if mark is not None]
    if len(values) < len(parsed):
        raise InputError(f"{where}: {column} must be 0 or 1 per word, found {written!r}")
    return values


def _json_rows(path: Path, columns: Sequence[str]) -> Iterator[PlacedRow]:
    """Yield the objects of a JSON array, or of lines where there is none."""
    lines = filter(str.strip, text_lines(path))
    first = next(lines, "")
    second = next(lines, "")
    if not first.lstrip().startswith("["):
        if first.strip() == "{" or (first and not second and path.suffix == ".json"):
            raise InputError(
                f"{path}: is one JSON object; write a list of rows, such as pandas does with "
                "to_json(orient='records')"
            )
        for where, row in read_jsonl(path):
            yield where, _chosen(where, row, columns)
        return
    for number, row in enumerate(parse_json("".join(text_lines(path)), str(path)), start=1):
        where = f"{path}, row {number}"
        if not isinstance(row, dict):
            raise InputError(f"{where}: expected a JSON object, found {json.dumps(row)[:40]}")
        yield where, _chosen(where, row, columns)


def _chosen(where: str, row: dict[str, object], columns: Sequence[str]) -> dict[str, object]:
    """Return the values of some columns; ``a.b`` is the entry b of what column a holds."""
    chosen: dict[str, object] = {}
    for name in columns:
        value: Any = row
        for part in [name] if name in row else name.split("."):
            if value is None:  # an empty column has no entries
                break
            if not isinstance(value, dict) or part not in value:
                raise no_column(where, name, value if isinstance(value, dict) else row)
            value = value[part]
        chosen[name] = value
    return chosen


def _columnar_rows(path: Path, columns: Sequence[str]) -> Iterator[PlacedRow]:
    schema = columnar_schema(path)
    outer = [name if name in schema.names else name.split(".")[0] for name in columns]
    _check_columns(path, outer, schema.names)
    classes = {name: names for name in columns if (names := _class_names(schema, name))}
    for where, row in read_columnar(path, list(dict.fromkeys(outer))):
        values = _chosen(where, row, columns)
        for name, names in classes.items():
            values[name] = _class_name(where, name, values[name], names)
        yield where, values


def _class_name(where: str, column: str, number: Any, names: Sequence[str]) -> str | None:
    """Return the class that a number declares; None of a missing number, and of −1."""
    if number is None or number != number or number == -1:
        return None
    if isinstance(number, str) and number in names:
        return number
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    if is_number and 0 <= number < len(names) and number == int(number):
        return names[int(number)]
    raise InputError(
        f"{where}: {column} is {shown(number)}, and the file declares the classes 0 to "
        f"{len(names) - 1} ({shown(', '.join(names))}); correct the number, or set it to -1 where "
        "the class is not known"
    )


def class_names(path: Path, column: str) -> tuple[str, ...] | None:
    """Return the classes that a Parquet or Arrow file of ``datasets`` declares for a column.

    They are in the order of their numbers; None where a file declares none.
    """
    if path.suffix.lower() not in COLUMNAR:
        return None
    return _class_names(columnar_schema(path), column)


def _class_names(schema: pa.Schema, column: str) -> tuple[str, ...] | None:
    """Return the names of a column's classes by number, as the library `datasets` writes them."""
    written = (schema.metadata or {}).get(b"huggingface")
    try:
        feature = json.loads(written or "{}")["info"]["features"][column]
        return tuple(map(str, feature["names"])) if feature["_type"] == "ClassLabel" else None
    except (ValueError, LookupError, TypeError):
        return None


def no_column(where: str, name: str, column_names: Iterable[str]) -> InputError:
    """Return the error of a missing column."""
    return InputError(f"{where}: no column '{name}'; {did_you_mean(name, column_names)}")


_READERS: dict[str, Callable[[Path, Sequence[str]], Iterator[PlacedRow]]] = {
    ".csv": csv_rows,
    ".tsv": partial(csv_rows, delimiter="\t"),
    ".json": _json_rows,
    ".jsonl": _json_rows,
    **dict.fromkeys(COLUMNAR, _columnar_rows),
}
