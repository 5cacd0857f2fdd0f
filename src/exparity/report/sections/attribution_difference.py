"""Attribution that matched texts give to the words they differ in."""

from __future__ import annotations

from exparity.report.analyses.attribution_difference import difference_tables
from exparity.report.analyses.reading import read_analysis
from exparity.report.context import Context
from exparity.report.sections.section import Content, Section


def _build(context: Context) -> Content | None:
    rows = read_analysis(context.results, context.options, "attribution_difference")
    if not rows:
        return None
    return Content({"differences": difference_tables(rows, context.study.statistics["alpha"])})


SECTION = Section("attribution_difference", "Attribution within matched sets", _build)
