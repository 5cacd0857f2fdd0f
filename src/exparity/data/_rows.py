"""Rows of tables in the usual formats, each with its place in the file for messages."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from exparity.data.files import read_jsonl
from exparity.errors import InputError, did_you_mean

Row = tuple[str, dict[str, Any]]
"""Place of a row (``file:line``), and its values by column."""

_MAX_CELL = 1 << 30
"""Longest CSV cell in characters; Python's own limit, 131,072, is below long documents."""


def read_rows(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of a CSV, TSV, JSONL or Parquet file, as its suffix says.

    CSV and TSV values are text as written: ``01`` and ``NA`` stay what they are.

    Args:
        path: the file.
        columns: the columns to read; each must be there.

    Raises:
        InputError: no such file, an unknown suffix, a missing column, or a file that is not what
            its suffix says; names file and line.
    """
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"{path}: unknown kind of table; use one of {', '.join(_READERS)}")
    if not path.is_file():
        raise InputError(f"{path.absolute()}: no such file; give a path from where you run")
    return reader(path, columns)


def _csv_rows(path: Path, columns: Sequence[str], delimiter: str = ",") -> Iterator[Row]:
    csv.field_size_limit(_MAX_CELL)
    line = 1
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=delimiter, strict=True)
            header = next(reader, [])
            places = [_place(path, name, header) for name in columns]
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
                yield where, {name: cells[i] for name, i in zip(columns, places, strict=True)}
    except csv.Error as error:
        raise InputError(f"{path}:{line}: not valid CSV ({error})") from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: not UTF-8 text ({error.reason}, after line {line - 1}); save it as UTF-8"
        ) from None


def _tsv_rows(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    return _csv_rows(path, columns, "\t")


def _place(path: Path, name: str, header: Sequence[str]) -> int:
    if name not in header:
        raise _no_column(str(path), name, header)
    return header.index(name)


def _jsonl_rows(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    for number, row in read_jsonl(path):
        where = f"{path}:{number}"
        for name in columns:
            if name not in row:
                raise _no_column(where, name, list(row))
        yield where, {name: row[name] for name in columns}


def _parquet_rows(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            for name in columns:
                if name not in names:
                    raise _no_column(str(path), name, names)
            number = 0
            for batch in file.iter_batches(columns=list(dict.fromkeys(columns))):
                for row in batch.to_pylist():
                    number += 1
                    yield f"{path}, row {number}", row
    except (pa.ArrowException, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"{path}: not a readable Parquet file ({reason})") from None


def _no_column(where: str, name: str, known: Sequence[str]) -> InputError:
    return InputError(f"{where}: no column '{name}'; {did_you_mean(name, known)}")


_READERS: dict[str, Callable[[Path, Sequence[str]], Iterator[Row]]] = {
    ".csv": _csv_rows,
    ".tsv": _tsv_rows,
    ".jsonl": _jsonl_rows,
    ".parquet": _parquet_rows,
}
