"""What tuned encoders still know of language."""

from __future__ import annotations

from exparity.report.analyses.mlm_score import mlm_lines
from exparity.report.analyses.reading import read_analysis
from exparity.report.context import Context
from exparity.report.sections.section import Content, Section


def _build(context: Context) -> Content | None:
    rows = read_analysis(context.results, context.options, "mlm_score")
    if not rows:
        return None
    return Content({"lines": mlm_lines(rows, context.study.statistics["alpha"])})


SECTION = Section("mlm_score", "Masked language model", _build)
