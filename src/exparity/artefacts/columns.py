"""Columns of artefacts, the examples that they name, and plain tables for other programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
import pyarrow as pa

from exparity.core.escaping import csv_text
from exparity.types import IntArray

ID = pa.dictionary(pa.int32(), pa.string())
# What Parquet makes of a map; many readers do not know maps themselves.
_PAIR = pa.struct([("key", pa.string()), ("value", pa.string())])


def fields(*columns: tuple[str, pa.DataType] | tuple[str, pa.DataType, bool]) -> list[pa.Field]:
    """Return columns from (name, type), or (name, type, True) for one that may be empty."""
    return [pa.field(c[0], c[1], nullable=len(c) > 2) for c in columns]


LEFT_OUT = {"left_out": "where empty"}
"""Metadata of a column that a file has only where a row has a value in it."""


def falls_columns() -> list[pa.Field]:
    """Return the columns of the falls beside scores; see :class:`exparity.types.Falls`."""
    types = {"sizes": pa.int32(), "falls": pa.float64(), "falls_log_odds": pa.float64()}
    return [pa.field(n, pa.list_(kind), metadata=LEFT_OUT) for n, kind in types.items()]


KEY = fields(("example_id", pa.string()), ("group", pa.string()), ("match_id", pa.string(), True))
"""The columns of an artefact with one row an example."""


def type_named(name: str) -> pa.DataType:
    """Return the type of a column by its name in a table of facts."""
    if name.startswith("list<"):
        return pa.list_(type_named(name[len("list<") : -1]))
    known = {"id": ID, "pair": _PAIR}
    return known.get(name) or pa.type_for_alias(name)


_TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}


def record_columns(kind: type[Any]) -> dict[str, pa.DataType]:
    """Return a column for each attribute of a dataclass: text, a number, or a list of text."""
    columns = {}
    for name, hint in get_type_hints(kind).items():
        plain = next(_TYPES[part] for part in (*get_args(hint), hint) if part in _TYPES)
        columns[name] = pa.list_(plain) if get_origin(hint) in (list, tuple) else plain
    return columns


class Examples:
    """The examples of several scores artefacts, each once with its facts.

    Each has a number, its place in :attr:`groups` and :attr:`sets`.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, str, str | None]] = {}  # place, group, set
        self._last: tuple[pa.Table, IntArray] | None = None

    def __len__(self) -> int:
        return len(self._known)

    @property
    def ids(self) -> list[str]:
        """(n,) id of each example."""
        return list(self._known)

    @property
    def groups(self) -> list[str]:
        """(n,) group of each example."""
        return [group for _, group, _ in self._known.values()]

    @property
    def sets(self) -> list[str | None]:
        """(n,) matched set of each example, None for one without."""
        return [match for _, _, match in self._known.values()]

    def places(self, table: pa.Table) -> IntArray:
        """Return the number of each row's example; most files hold the examples of the last."""
        keys = table.select([field.name for field in KEY])
        if self._last is not None and keys.equals(self._last[0]):
            return self._last[1]
        rows = zip(*(column.to_pylist() for column in keys.columns), strict=True)
        places = [
            self._known.setdefault(example, (len(self._known), group, match))[0]
            for example, group, match in rows
        ]
        self._last = keys, np.array(places, dtype=np.int64)
        return self._last[1]


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
    rows: Sequence[Mapping[str, Any]]
    latex: str | None = None
    digits: int | None = None
    folder: str = "tables"

    @classmethod
    def of(
        cls, name: str, title: str, kind: type[Any], records: Iterable[Any], folder: str = "tables"
    ) -> Export:
        """Return a table with a column for each attribute of its records, a dataclass."""
        schema = pa.schema(record_columns(kind).items())
        return cls(name, title, schema, [asdict(record) for record in records], folder=folder)

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
