"""LaTeX tables for ``booktabs``, rendered with Jinja."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from jinja2 import Environment, PackageLoader, StrictUndefined

from exparity.artefacts.exports import Export
from exparity.core.escaping import plain_cell, visible
from exparity.interface import ARROWS
from exparity.report.bias import BiasTable
from exparity.report.gather import Study
from exparity.report.tables import Table

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "×": r"$\times$",
}  # fmt: skip


def latex_escape(text: str) -> str:
    """Escape text for LaTeX."""
    return "".join(_LATEX.get(character, character) for character in visible(text))


def arrow(study: Study, metric: str) -> str:
    """Return ↑ where higher values of a metric are better, else ↓."""
    return ARROWS[study.metric_facts(metric).direction]


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("exparity.report"),
        autoescape=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # LaTeX is full of braces; its templates use other marks.
        variable_start_string="<<",
        variable_end_string=">>",
    )
    environment.filters["tex"] = latex_escape
    return environment


def render_latex(study: Study, table: Table) -> str:
    """Return a table as LaTeX for ``booktabs`` and ``xcolor`` (option ``table``)."""
    template = _environment().get_template("table.tex.j2")
    return template.render(study=study, table=table, arrow=arrow)


def render_bias_latex(table: BiasTable) -> str:
    """Return a table of model bias as LaTeX for ``booktabs``."""
    return _environment().get_template("bias.tex.j2").render(table=table)


def render_export_latex(export: Export) -> str:
    """Return a table as LaTeX for ``booktabs``: in its own form, or all of its columns."""
    if export.latex is not None:
        return export.latex
    numeric = [pa.types.is_floating(f.type) or pa.types.is_integer(f.type) for f in export.schema]
    names = export.schema.names
    return (
        _environment()
        .get_template("plain.tex.j2")
        .render(
            title=export.title,
            head=names,
            numeric=numeric,
            rows=[[_cell(row.get(name)) for name in names] for row in export.rows],
        )
    )


def _cell(value: Any) -> str:
    value = plain_cell(value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)
