"""Every table of the report as CSV, LaTeX and Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

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
        csv: its text where it has a form of its own; else all columns are written in full.
        folder: where it is, below the folder of the page.
    """

    name: str
    title: str
    schema: pa.Schema
    rows: Sequence[Mapping[str, Any]]
    latex: str | None = None
    csv: str | None = None
    folder: str = "tables"

    def as_table(self) -> pa.Table:
        """Return it as an Arrow table."""
        return pa.Table.from_pylist(list(self.rows), schema=self.schema)

    def as_csv(self) -> str:
        """Return it as CSV, numbers in full."""
        if self.csv is not None:
            return self.csv
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(self.schema.names)
        writer.writerows(
            [_in_csv(row.get(name)) for name in self.schema.names] for row in self.rows
        )
        return file.getvalue()

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


def _in_csv(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or (isinstance(value, float) and value != value):
        return ""
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else value


def _in_latex(value: Any) -> str:
    value = _in_csv(value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)
