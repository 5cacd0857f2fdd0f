"""Plain tables for other programs: CSV, Parquet and, in the report, LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from exparity.artefacts.columns import record_columns
from exparity.core.escaping import csv_text


@dataclass(frozen=True)
class Export:
    """A plain table: named columns of equal length.

    Attributes:
        name: file name without suffix.
        title: what it holds, in words.
        schema: its columns and their types.
        rows: one mapping per row; NaN and None are empty cells in CSV and LaTeX.
        latex: its LaTeX source where it has a form of its own; else all columns are printed.
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
