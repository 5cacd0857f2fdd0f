"""Rendering with Jinja: the page (escaped) and the LaTeX tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from exparity.catalogue import ARROWS
from exparity.report.bias import BiasTable
from exparity.report.flags import meaning_of
from exparity.report.gather import Study
from exparity.report.tables import Table

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "×": r"$\times$",
}  # fmt: skip


def latex_escape(text: str) -> str:
    """Escape text for LaTeX."""
    return "".join(_LATEX.get(character, character) for character in str(text))


def _environment(*, html: bool) -> Environment:
    environment = Environment(
        loader=PackageLoader("exparity.report"),
        autoescape=html,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # LaTeX is full of braces; its templates use other marks.
        variable_start_string="{{" if html else "<<",
        variable_end_string="}}" if html else ">>",
    )
    environment.filters["tex"] = latex_escape
    return environment


def arrow(study: Study, metric: str) -> str:
    """Return ↑ where higher values of a metric are better, else ↓."""
    return ARROWS[study.metric_facts(metric).direction]


def render_latex(study: Study, table: Table) -> str:
    """Return a table as LaTeX for ``booktabs`` and ``xcolor`` (option ``table``)."""
    template = _environment(html=False).get_template("table.tex.j2")
    return template.render(study=study, table=table, arrow=arrow)


def render_bias_latex(table: BiasTable) -> str:
    """Return a table of model bias as LaTeX for ``booktabs``."""
    return _environment(html=False).get_template("bias.tex.j2").render(table=table)


def render_page(
    study: Study,
    tables: Sequence[Table],
    bias_tables: Sequence[BiasTable],
    published: Mapping[str, Any] | None,
) -> str:
    """Return the page: one self-contained HTML file without scripts or requests.

    Args:
        study: what it is about.
        tables: the disparity tables.
        bias_tables: the tables of model bias.
        published: the section on published numbers; None if there are none to compare with.
    """
    template = _environment(html=True).get_template("page.html.j2")
    significant = sum(row["significant"] for row in study.rows)
    considerable = sum(row["significant"] and row["considerable"] for row in study.rows)
    flagged: dict[str, int] = {}
    for row in study.rows:
        for flag in row["flags"]:
            flagged[flag] = flagged.get(flag, 0) + 1
    facts: dict[str, Any] = {
        "n": len(study.rows),
        "significant": significant,
        "considerable": considerable,
        "holm": sum(row["significant_holm"] for row in study.rows),
        "bh": sum(row["significant_bh"] for row in study.rows),
        "flagged": dict(sorted(flagged.items())),
        "collapsed": [a for a in study.accuracies if a.collapsed],
    }
    return template.render(
        study=study,
        tables=tables,
        bias_tables=bias_tables,
        published=published,
        facts=facts,
        arrow=arrow,
        meaning_of=meaning_of,
        version=version("exparity"),
    )
