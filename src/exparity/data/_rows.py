"""Rows of tables in the usual formats, each with its place in the file for messages."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exparity.core.errors import InputError, did_you_mean
from exparity.data.files import read_jsonl

if TYPE_CHECKING:
    import pyarrow as pa

PlacedRow = tuple[str, dict[str, Any]]
"""Place of a row (``file:line``), and its values by column."""

_SEPARATOR = re.compile(r"(?i)sep=(.)")
_MAX_CELL = 1 << 30
"""Longest CSV cell in characters; Python's own limit, 131,072, is below long documents."""


def read_rows(path: Path, columns: Sequence[str] | None) -> Iterator[PlacedRow]:
    """Yield the rows of a CSV, TSV, JSONL or Parquet file, as its suffix says.

    CSV and TSV values are text as written: ``01`` and ``NA`` stay what they are.
    """
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"{path}: unknown kind of table; use one of {', '.join(_READERS)}")
    if not path.is_file():
        raise InputError(
            f"{path.absolute()}: no such file; paths are relative to the current folder"
        )
    return _checked(reader(path, columns))


def _checked(rows: Iterator[PlacedRow]) -> Iterator[PlacedRow]:
    """Refuse NUL, which no text has, and which UTF-16 leaves all over what is read as UTF-8."""
    for where, row in rows:
        for name, value in row.items():
            for text in value if isinstance(value, list) else [value]:
                if isinstance(text, str) and "\0" in text:
                    raise InputError(f"{where}: {name} holds NUL characters; is it UTF-8?")
        yield where, row


def csv_rows(
    path: Path, columns: Sequence[str] | None, delimiter: str = ",", *, repeats: bool = False
) -> Iterator[PlacedRow]:
    """Yield the rows of a CSV file; see :func:`read_rows`.

    With ``repeats``, the first of several columns of one name is read, instead of none.
    """
    csv.field_size_limit(_MAX_CELL)
    line = 1
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=delimiter, strict=True)
            header = next(reader, [])
            if _SEPARATOR.fullmatch(delimiter.join(header)):  # a line of spreadsheets, no header
                header = next(reader, [])
            names = header if columns is None else columns
            places = [_place(path, name, header, repeats) for name in names]
            line = reader.line_num + 1
            for cells in reader:
                where, line = f"{path}:{line}", reader.line_num + 1
                if not cells:
                    continue
                if len(cells) != len(header):
                    raise InputError(
                        f"{where}: {len(cells)} cells, but the header has {len(header)}; put text "
                        "that holds the separator or a line break in double quotes"
                    )
                yield where, {name: cells[i] for name, i in zip(names, places, strict=True)}
    except csv.Error as error:
        raise InputError(f"{path}:{line}: not valid CSV ({error})") from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}:{_first_not_utf8(path)}: not UTF-8 text ({error.reason}); save it as UTF-8"
        ) from None


def _place(path: Path, name: str, header: Sequence[str], repeats: bool) -> int:
    if any("\0" in known for known in header):
        raise InputError(f"{path}: the header holds NUL characters; save it as UTF-8")
    if name not in header:
        raise no_column(str(path), name, header)
    first = header.index(name)
    if not repeats and name in header[first + 1 :]:
        second = header.index(name, first + 1)
        raise InputError(
            f"{path}: columns {first + 1} and {second + 1} are both '{name}'; rename one"
        )
    return first


def words_in(where: str, row: Mapping[str, Any], column: str) -> list[str]:
    """Return the words of a row's text: a string, split at blanks, or a list of words as it is."""
    value = row[column]
    words = value.split() if isinstance(value, str) else value or []
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise InputError(f"{where}: {column} must be a string or a list of words, found {value!r}")
    return words


def _first_not_utf8(path: Path) -> int:
    """Return the number of the first line that is no UTF-8; 1 if each line is alone."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return 1


def _separated_rows(path: Path, columns: Sequence[str] | None) -> Iterator[PlacedRow]:
    """Yield the rows of a CSV file, whose header says whether commas part its cells.

    Spreadsheets of many languages write semicolons.
    """
    with path.open("rb") as file:
        line = re.split("[\r\n]", file.readline().decode("utf-8-sig", "replace"))[0]
    if marked := _SEPARATOR.fullmatch(line.strip()):
        yield from csv_rows(path, columns, marked[1])
        return
    has_commas = len(next(csv.reader([line]), [])) != 1
    delimiter = "," if has_commas else next((mark for mark in ";\t|" if mark in line), ",")
    yield from csv_rows(path, columns, delimiter)


def _jsonl_rows(path: Path, columns: Sequence[str] | None) -> Iterator[PlacedRow]:
    for number, row in read_jsonl(path):
        where = f"{path}:{number}"
        names = row if columns is None else columns
        for name in names:
            if name not in row:
                raise no_column(where, name, list(row))
        yield where, {name: row[name] for name in names}


def _parquet_rows(path: Path, columns: Sequence[str] | None) -> Iterator[PlacedRow]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            schema = file.schema_arrow
            names = schema.names if columns is None else columns
            for name in names:
                if name not in schema.names:
                    raise no_column(str(path), name, schema.names)
                if schema.names.count(name) > 1:
                    raise InputError(f"{path}: several columns are '{name}'; rename all but one")
                if not _is_plain(schema.field(name).type):
                    raise InputError(
                        f"{path}: column '{name}' is of type {schema.field(name).type}; make it "
                        "text, whole numbers, or lists of these"
                    )
            number = 0
            for batch in file.iter_batches(columns=list(dict.fromkeys(names))):
                for row in batch.to_pylist():
                    number += 1
                    yield f"{path}, row {number}", row
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"{path}: not a readable Parquet file ({reason})") from None


def _is_plain(kind: pa.DataType) -> bool:
    """Tell whether values of a type are text, numbers, booleans, nothing, or lists of these."""
    from pyarrow import types

    if types.is_dictionary(kind) or types.is_list(kind) or types.is_large_list(kind):
        return _is_plain(kind.value_type)
    plain = (types.is_integer, types.is_floating, types.is_boolean, types.is_null)
    text = (types.is_string, types.is_large_string, types.is_string_view)
    return any(is_of(kind) for is_of in (*plain, *text))


def no_column(where: str, name: str, known: Sequence[str]) -> InputError:
    """Return what is wrong where a column is missing."""
    return InputError(f"{where}: no column '{name}'; {did_you_mean(name, known)}")


_READERS: dict[str, Callable[[Path, Sequence[str] | None], Iterator[PlacedRow]]] = {
    ".csv": _separated_rows,
    ".tsv": partial(csv_rows, delimiter="\t"),
    ".jsonl": _jsonl_rows,
    ".parquet": _parquet_rows,
}
