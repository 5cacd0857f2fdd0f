"""Our numbers beside published ones."""

from __future__ import annotations

from exparity.report.context import Context
from exparity.report.published.comparison import Comparison
from exparity.report.sections.section import Content, Section


def _build(context: Context) -> Content | None:
    if context.published is None:
        return None
    comparison: Comparison = context.published["comparison"]
    effects = [
        {
            "dataset": match.theirs.dataset,
            "model": match.theirs.model,
            "method": match.theirs.method,
            "metric": match.theirs.metric,
            "ours": match.ours.mean_d,
            "theirs": match.theirs.mean_d,
            "flagged": bool(match.ours.flags),
        }
        for match in comparison.matches
        if match.ours.mean_d is not None and match.theirs.mean_d is not None
    ]
    return Content({"published": context.published}, data={"effects": effects})


SECTION = Section("published", "Beside published numbers", _build, script="published.js")
