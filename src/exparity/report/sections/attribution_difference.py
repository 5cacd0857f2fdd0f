"""Attribution that matched texts give to the words they differ in."""

from __future__ import annotations

from exparity.report.analyses.attribution_difference import difference_tables
from exparity.report.analyses.reading import read_analysis
from exparity.report.context import Context
from exparity.report.flags import ROUNDING_NOISE, meaning_of, noise_of
from exparity.report.sections.section import Content, Section


def _build(context: Context) -> Content | None:
    rows = read_analysis(context.results, context.options, "attribution_difference")
    if not rows:
        return None
    study = context.study
    noise = noise_of(study.rows)
    return Content(
        {
            "differences": difference_tables(rows, study.statistics["alpha"], noise),
            "noise": noise,
            "meaning": meaning_of(ROUNDING_NOISE),
        }
    )


SECTION = Section("attribution_difference", "Attribution within matched sets", _build)
