"""Every table of the report as CSV, LaTeX and Parquet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from exparity.core.escaping import csv_text, plain_cell
from exparity.report.latex import render_latex_table


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

    def as_table(self) -> pa.Table:
        """Return it as an Arrow table."""
        return pa.Table.from_pylist(list(self.rows), schema=self.schema)

    def as_csv(self) -> str:
        """Return it as CSV."""
        names = self.schema.names
        return csv_text(names, ([self._rounded(row.get(n)) for n in names] for row in self.rows))

    def as_latex(self) -> str:
        """Return it as LaTeX for ``booktabs``."""
        if self.latex is not None:
            return self.latex
        numeric = [pa.types.is_floating(f.type) or pa.types.is_integer(f.type) for f in self.schema]
        return render_latex_table(
            self.title,
            self.schema.names,
            numeric,
            [[_in_latex(row.get(name)) for name in self.schema.names] for row in self.rows],
        )

    def _rounded(self, value: Any) -> Any:
        rounds = self.digits is not None and isinstance(value, float) and value == value
        return f"{value:.{self.digits}g}" if rounds else value


def _in_latex(value: Any) -> str:
    value = plain_cell(value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)
