"""Cost: time and GPU hours by stage, method and metric."""

from __future__ import annotations

from exparity.report.context import Content, Context, Section
from exparity.report.costs import cost_by_part, cost_by_stage, total_cost


def duration(seconds: float | None) -> str:
    """Return a time span as a reader would say it."""
    if seconds is None:
        return "–"
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{seconds / 60:.1f} min"
    return f"{seconds / 3600:.1f} h"


def _build(context: Context) -> Content | None:
    if not context.costs:
        return None
    parts = cost_by_part(context.costs)
    study = context.study
    names = {id: study.display("method", id) for id in study.methods}
    names |= {id: study.display("metric", id) for id in study.metrics}
    return Content(
        values={
            "stages": cost_by_stage(context.costs),
            "total": total_cost(context.costs),
            "parts": parts,
            "names": names,
            "duration": duration,
        },
        data=[
            {
                "stage": cost.stage,
                "part": names.get(cost.part, cost.part),
                "jobs": cost.jobs,
                "seconds": cost.seconds,
            }
            for cost in parts
        ],
    )


SECTION = Section("cost", "Cost", _build, script="cost.js")
