"""The pages of a report: the page itself, a summary that prints, and a paragraph for a paper."""

from __future__ import annotations

from pathlib import Path

from exparity.artefacts.files import atomic_path
from exparity.report.context import Context
from exparity.report.paragraph import SUMMARY
from exparity.report.render import render_page
from exparity.report.summary import render_summary
from exparity.report.templating import latex_escape

_MADE_WHERE = "% Needs \\usepackage[T1]{fontenc} or XeLaTeX.\n"


def write_pages(context: Context, page: Path) -> None:
    """Write the page of a study, and what lies beside it where groups are compared."""
    texts = {}
    if context.study.compares:
        with context.failures.caught("The summary"):
            texts[SUMMARY] = render_summary(context)
    with context.failures.caught("The paragraph"):
        paragraph = " ".join(context.paragraph)
        if paragraph:
            texts["paragraph.txt"] = f"{paragraph}\n"
            texts["paragraph.tex"] = f"{_MADE_WHERE}{latex_escape(paragraph)}\n"
    for name, text in texts.items():
        _write(page.with_name(name), text)
    _write(page, render_page(context))


def _write(path: Path, text: str) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")
