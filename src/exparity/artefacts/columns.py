"""Columns of artefacts, the examples that they name, and plain tables for other programs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
import pyarrow as pa

from exparity.core.escaping import csv_text
from exparity.types import FloatArray, IntArray
from exparity.types import Row as Row

ID = pa.dictionary(pa.int32(), pa.string())
Record = TypeVar("Record")
_LEFT_OUT = {"left_out": "where empty"}
_NAMED = {
    "id": ID,
    # What Parquet makes of a map; many readers do not know maps themselves.
    "pair": pa.struct([("key", pa.string()), ("value", pa.string())]),
}
_OF_HINTS = {str: "string", int: "int64", float: "float64", bool: "bool"}

Column: TypeAlias = str | type[Any] | pa.Field
"""A text of names and a type, a dataclass, or a column itself; see :func:`fields`."""


def fields(*columns: Column) -> list[pa.Field]:
    """Return columns from texts such as ``"group word: string"``: names, then their type.

    Types are those of ``resources/artefacts.toml``. With a question mark, a column may have empty
    cells; with two, a file has it only where a row has a value in it. A dataclass stands for one
    column per attribute: text, a number, or a list of either.
    """
    schema: list[pa.Field] = []
    for column in columns:
        if isinstance(column, str):
            names, _, kind = column.partition(": ")
            plain = _type_named(kind.rstrip("?"))
            nullable = kind.endswith("?")
            facts = _LEFT_OUT if kind.endswith("??") else None
            schema += [pa.field(name, plain, nullable, facts) for name in names.split()]
        else:
            schema += [column] if isinstance(column, pa.Field) else fields(*_of_record(column))
    return schema


def plain_schema(*columns: Column) -> pa.Schema:
    """Return a schema of :func:`fields` in which every cell may be empty, such as an export's."""
    return pa.schema([(column.name, column.type) for column in fields(*columns)])


def may_be_left_out(field: pa.Field) -> bool:
    """Return whether an artefact has a column only where a row has a value in it."""
    return bool(field.metadata)


def _type_named(name: str) -> pa.DataType:
    """Return the type of a column by its name in a table of facts."""
    if name.startswith("list<"):
        return pa.list_(_type_named(name[len("list<") : -1]))
    return _NAMED.get(name) or pa.type_for_alias(name)


def _of_record(kind: type[Any]) -> Iterator[str]:
    for name, hint in get_type_hints(kind).items():
        plain = next(_OF_HINTS[part] for part in (*get_args(hint), hint) if part in _OF_HINTS)
        yield f"{name}: list<{plain}>" if get_origin(hint) in (list, tuple) else f"{name}: {plain}"


def records(kind: type[Record], rows: pa.Table | Iterable[Row]) -> list[Record]:
    """Return the rows of a table as records of a dataclass, whose attributes name columns.

    Where a row lacks a column, the attribute has its default.
    """
    attributes = dataclasses.fields(kind)  # type: ignore[arg-type]
    optional = {attribute.name for attribute in attributes if _has_default(attribute)}
    names = [attribute.name for attribute in attributes]
    if isinstance(rows, pa.Table):
        names = [name for name in names if name in rows.column_names or name not in optional]
        columns = [rows.column(name).to_pylist() for name in names]
        return [
            kind(**dict(zip(names, values, strict=True))) for values in zip(*columns, strict=True)
        ]
    return [
        kind(**{name: row[name] for name in names if name in row or name not in optional})
        for row in rows
    ]


def _has_default(attribute: dataclasses.Field[Any]) -> bool:
    missing = dataclasses.MISSING
    return attribute.default is not missing or attribute.default_factory is not missing


KEY = fields("example_id group: string", "match_id: string?")
"""The columns of an artefact with one row an example."""


class Examples:
    """The examples of several scores artefacts, each once with its facts.

    Attributes:
        ids: (n,) id of each example.
        groups: (n,) its group.
        sets: (n,) its matched set, None for one without.
    """

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.groups: list[str] = []
        self.sets: list[str | None] = []
        self._places: dict[str, int] = {}
        self._last: tuple[pa.Table, IntArray] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def places(self, table: pa.Table) -> IntArray:
        """Return the place of each row's example; most files hold the examples of the last."""
        keys = table.select([field.name for field in KEY])
        if self._last is not None and keys.equals(self._last[0]):
            return self._last[1]
        examples = keys.column("example_id").to_pylist()
        groups = keys.column("group").to_pylist()
        sets = keys.column("match_id").to_pylist()
        for example, group, match in zip(examples, groups, sets, strict=True):
            if example not in self._places:
                self._places[example] = len(self)
                self.ids.append(example)
                self.groups.append(group)
                self.sets.append(match)
        self._last = keys, np.array([self._places[e] for e in examples], dtype=np.int64)
        return self._last[1]


def laid(values: FloatArray, places: IntArray, size: int) -> FloatArray:
    """Return (n,) values at their places among ``size`` others, NaN where there is none."""
    row = np.full(size, np.nan)
    row[places] = values
    return row


@dataclass(frozen=True)
class Export:
    """A plain table for other programs: CSV and Parquet.

    Attributes:
        name: file name without suffix.
        title: what it holds, in words.
        schema: its columns and their types.
        rows: one mapping per row; NaN and None are empty cells in CSV.
        latex: its LaTeX source where the report has a form for it.
        digits: significant digits of its numbers in CSV; all of them if None.
        folder: where it is, below the folder of the page.
    """

    name: str
    title: str
    schema: pa.Schema
    rows: Sequence[Row]
    latex: str | None = None
    digits: int | None = None
    folder: str = "tables"

    @classmethod
    def of(
        cls, name: str, title: str, kind: type[Any], records: Iterable[Any], folder: str = "tables"
    ) -> Export:
        """Return a table with a column for each attribute of its records, a dataclass."""
        rows = [asdict(record) for record in records]
        return cls(name, title, plain_schema(kind), rows, folder=folder)

    def as_table(self) -> pa.Table:
        """Return it as an Arrow table."""
        return pa.Table.from_pylist(list(self.rows), schema=self.schema)

    def as_csv(self) -> str:
        """Return it as CSV."""
        names = self.schema.names
        return csv_text(names, ([self._rounded(row.get(n)) for n in names] for row in self.rows))

    def _rounded(self, value: Any) -> Any:
        rounds = self.digits is not None and isinstance(value, float) and value == value
        return f"{value:.{self.digits}g}" if rounds else value
