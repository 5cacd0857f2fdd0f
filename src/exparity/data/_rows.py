"""Rows of tables in the usual formats, each with its place in the file for messages."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exparity.core.errors import InputError, did_you_mean
from exparity.core.strict import parse_json
from exparity.data.files import read_jsonl, text_lines

if TYPE_CHECKING:
    import pyarrow as pa

PlacedRow = tuple[str, dict[str, Any]]
"""Place of a row (``file:line``), and its values by column."""

_SEPARATOR = re.compile(r"(?i)sep=(.)")
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_AFTER_CARRIAGE_RETURN = re.compile(r"(?<=\r)(?!\n|$)")
_MAX_CELL = 1 << 30
"""Longest CSV cell in characters; Python's own limit, 131,072, is below long documents."""


def read_rows(path: Path, columns: Sequence[str]) -> Iterator[PlacedRow]:
    """Yield the rows of a CSV, TSV, JSON, JSONL or Parquet file, as its suffix says.

    All but Parquet may be compressed, with ``.gz`` after the suffix. CSV and TSV values are text as
    written: ``01`` and ``NA`` stay what they are. A column may be one inside another, such as
    ``meta.age``. Classes that Parquet files of the Hugging Face Hub hold as numbers come by their
    names.
    """
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name its files, as in {path}/*.parquet")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    kind = suffixes[-2:-1] if suffixes[-1:] == [".gz"] else suffixes[-1:]
    reader = _READERS.get("".join(kind))
    if reader is None:
        raise InputError(f"{path}: unknown kind of table; use one of {', '.join(_READERS)}")
    if not path.is_file():
        raise InputError(
            f"{path.absolute()}: no such file; paths are relative to the current folder"
        )
    return _without_nul(reader(path, columns))


def _without_nul(rows: Iterator[PlacedRow]) -> Iterator[PlacedRow]:
    """Refuse NUL, which no text has, and which UTF-16 leaves all over what is read as UTF-8."""
    for where, row in rows:
        for name, value in row.items():
            for text in value if isinstance(value, list) else [value]:
                if isinstance(text, str) and "\0" in text:
                    raise InputError(f"{where}: {name} holds NUL characters; is it UTF-8?")
        yield where, row


def csv_rows(
    path: Path,
    columns: Sequence[str],
    delimiter: str = ",",
    *,
    repeats: bool = False,
    quoted: bool = True,
) -> Iterator[PlacedRow]:
    """Yield the rows of a CSV file; see :func:`read_rows`.

    With ``repeats``, the first of several columns of one name is read, instead of none. Without
    ``quoted``, quotes are text like any other.
    """
    csv.field_size_limit(_MAX_CELL)
    form: Any = {"quoting": csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE}
    lines = (part for line in text_lines(path) for part in _AFTER_CARRIAGE_RETURN.split(line))
    reader = csv.reader(lines, delimiter=delimiter, strict=True, **form)
    line = 1
    try:
        header = next(reader, [])
        if _SEPARATOR.fullmatch(delimiter.join(header)):  # a line of spreadsheets, no header
            header = next(reader, [])
        places = [_place(path, name, header, repeats) for name in columns]
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


def _place(path: Path, name: str, header: Sequence[str], repeats: bool) -> int:
    if any("\0" in known for known in header):
        raise InputError(f"{path}: the header holds NUL characters; save it as UTF-8")
    if name not in header:
        raise no_column(str(path), name, header)
    if not repeats:
        _refuse_repeated(path, name, header)
    return header.index(name)


def _refuse_repeated(path: Path, name: str, known: Sequence[str]) -> None:
    if known.count(name) > 1:
        raise InputError(f"{path}: several columns are '{name}'; rename all but one")


def words_in(where: str, row: Mapping[str, Any], column: str) -> list[str]:
    """Return the words of a row's text: a string, split at blanks, or a list of words as it is."""
    value = row[column]
    words = value.split() if isinstance(value, str) else value or []
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise InputError(f"{where}: {column} must be a string or a list of words, found {value!r}")
    return words


def _separated_rows(path: Path, columns: Sequence[str]) -> Iterator[PlacedRow]:
    """Yield the rows of a CSV file, whose header says whether commas part its cells.

    Spreadsheets of many languages write semicolons.
    """
    line = re.split("[\r\n]", next(text_lines(path), ""))[0]
    if marked := _SEPARATOR.fullmatch(line.strip()):
        return csv_rows(path, columns, marked[1])
    has_commas = len(next(csv.reader([line]), [])) != 1
    delimiter = "," if has_commas else next((mark for mark in ";\t|" if mark in line), ",")
    return csv_rows(path, columns, delimiter)


def _tab_rows(path: Path, columns: Sequence[str]) -> Iterator[PlacedRow]:
    """Yield the rows of a TSV file, whose quotes part cells only if all of them can."""
    return csv_rows(path, columns, "\t", quoted=_quotes_enclose(path))


def _quotes_enclose(path: Path) -> bool:
    """Return whether quotes in a TSV file enclose cells: False where one is only text."""
    enclose = True
    width = None
    for line in text_lines(path):
        cells = line.rstrip("\r\n").split("\t")
        width = width or len(cells)
        if len(cells) != width and line.strip():  # quotes may enclose tabs or line breaks
            return True
        enclose &= all(_QUOTED.fullmatch(cell) for cell in cells if cell.startswith('"'))
    return enclose


def _json_rows(path: Path, columns: Sequence[str]) -> Iterator[PlacedRow]:
    """Yield the objects of a JSON array, of pandas' columns, or of lines where there is neither."""
    objects = _objects_in(path)
    if objects is None:
        yield from _jsonl_rows(path, columns)
        return
    for number, row in enumerate(objects, start=1):
        where = f"{path}, row {number}"
        if not isinstance(row, dict):
            raise InputError(f"{where}: expected a JSON object, found {json.dumps(row)[:40]}")
        yield where, _chosen(where, row, columns)


def _objects_in(path: Path) -> list[Any] | None:
    """Return the rows of a JSON file: of an array, also alone in an object, or of pandas' columns.

    ``to_json`` writes columns as objects with the rows' numbers for keys. None of other files.
    """
    text = "".join(text_lines(path))
    if text.lstrip().startswith("["):
        return list(parse_json(text, str(path)))
    try:
        parts = parse_json(text, str(path))
    except InputError:
        return None  # lines
    values = list(parts.values()) if isinstance(parts, dict) else []
    if len(values) == 1 and isinstance(values[0], list):
        return values[0] if all(isinstance(row, dict) for row in values[0]) else None
    if not values or not all(isinstance(value, dict) for value in values):
        return None
    numbers = values[0].keys()
    if not all(value.keys() == numbers and "".join(value).isdigit() for value in values):
        return None
    return [{name: value[number] for name, value in parts.items()} for number in numbers]


def _jsonl_rows(path: Path, columns: Sequence[str]) -> Iterator[PlacedRow]:
    for number, row in read_jsonl(path):
        where = f"{path}:{number}"
        yield where, _chosen(where, row, columns)


def _chosen(where: str, row: dict[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    """Return the values of some columns; ``a.b`` is the entry b of what column a holds."""
    chosen: dict[str, Any] = {}
    for name in columns:
        value: Any = row
        for part in [name] if name in row else name.split("."):
            if value is None:  # an empty column has no entries
                break
            if not isinstance(value, dict) or part not in value:
                raise no_column(where, name, _names_in(row))
            value = value[part]
        chosen[name] = value
    return chosen


def _names_in(row: Mapping[str, Any], outer: str = "") -> list[str]:
    """Return the columns of a row, those inside others after them."""
    names = []
    for name, value in row.items():
        inner = _names_in(value, f"{outer}{name}.") if isinstance(value, dict) else ()
        names += [outer + name, *inner]
    return names


def _parquet_rows(path: Path, columns: Sequence[str]) -> Iterator[PlacedRow]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            schema = file.schema_arrow
            outer = [name if name in schema.names else name.split(".")[0] for name in columns]
            for name, top in zip(columns, outer, strict=True):
                if top not in schema.names:
                    raise no_column(str(path), name, schema.names)
                _refuse_repeated(path, top, schema.names)
            classes = {name: of for name in columns if (of := _class_names(schema, name))}
            number = 0
            for batch in file.iter_batches(columns=list(dict.fromkeys(outer))):
                for row in batch.to_pylist():
                    number += 1
                    where = f"{path}, row {number}"
                    values = _chosen(where, row, columns)
                    for name, of in classes.items():
                        values[name] = _class_name(where, name, values[name], of)
                    yield where, values
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"{path}: not a readable Parquet file ({reason})") from None


def class_names(path: Path, column: str) -> tuple[str, ...] | None:
    """Return the classes that a Parquet file of the Hugging Face Hub declares of a column.

    They are in the order of their numbers; None where a file declares none.
    """
    from pyarrow import parquet

    if path.suffix.lower() != ".parquet":
        return None
    return _class_names(parquet.read_schema(path), column)


def _class_names(schema: pa.Schema, column: str) -> tuple[str, ...] | None:
    """Return the names of a column's classes by number, as the library `datasets` writes them."""
    written = (schema.metadata or {}).get(b"huggingface")
    try:
        feature = json.loads(written or "{}")["info"]["features"][column]
        return tuple(map(str, feature["names"])) if feature["_type"] == "ClassLabel" else None
    except (ValueError, LookupError, TypeError):
        return None


def _class_name(where: str, column: str, value: Any, names: Sequence[str]) -> Any:
    """Return the name of a class that is held as its number; −1 is none."""
    if not isinstance(value, int) or value == -1:
        return None if value == -1 else value
    if not 0 <= value < len(names):
        raise InputError(
            f"{where}: {column} {value} is none of the {len(names)} classes that the file names"
        )
    return names[value]


def no_column(where: str, name: str, known: Sequence[str]) -> InputError:
    """Return what is wrong where a column is missing."""
    return InputError(f"{where}: no column '{name}'; {did_you_mean(name, known)}")


_READERS: dict[str, Callable[[Path, Sequence[str]], Iterator[PlacedRow]]] = {
    ".csv": _separated_rows,
    ".tsv": _tab_rows,
    ".json": _json_rows,
    ".jsonl": _jsonl_rows,
    ".parquet": _parquet_rows,
}
