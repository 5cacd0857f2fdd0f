"""LaTeX tables for ``booktabs``, rendered with Jinja."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from exparity.artefacts.exports import Export
from exparity.core.escaping import plain_cell
from exparity.report.templating import text_environment


def render_latex(template: str, **values: Any) -> str:
    """Return a table in a form of its own, for ``booktabs`` and ``xcolor`` (option ``table``)."""
    return text_environment().get_template(template).render(values)


def render_export_latex(export: Export) -> str:
    """Return a table as LaTeX for ``booktabs``: in its own form, or all of its columns."""
    if export.latex is not None:
        return export.latex
    names, types = export.schema.names, export.schema.types
    return render_latex(
        "plain.tex.j2",
        title=export.title,
        head=names,
        numeric=[pa.types.is_floating(kind) or pa.types.is_integer(kind) for kind in types],
        rows=[[_cell(row.get(name)) for name in names] for row in export.rows],
    )


def _cell(value: Any) -> str:
    value = plain_cell(value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)
