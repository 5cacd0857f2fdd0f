"""LaTeX tables for ``booktabs``, rendered with Jinja."""

from __future__ import annotations

from collections.abc import Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined

from exparity.core.escaping import visible
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


def render_latex_table(
    title: str, head: Sequence[str], numeric: Sequence[bool], rows: Sequence[Sequence[str]]
) -> str:
    """Return any table as LaTeX for ``booktabs``.

    Args:
        title: what it holds; a comment in the source.
        head: names of the columns.
        numeric: whether each column holds numbers, which are aligned right.
        rows: cells as text.
    """
    template = _environment().get_template("plain.tex.j2")
    return template.render(title=title, head=head, numeric=numeric, rows=rows)
