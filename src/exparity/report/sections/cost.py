"""Cost: time and GPU hours by stage, method and metric."""

from __future__ import annotations

from exparity.report.context import Context
from exparity.report.provenance import Cost, cost_by_part, cost_by_stage
from exparity.report.sections.section import Content, Section


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
    if not context.origins:
        return None
    stages = cost_by_stage(context.origins, context.results)
    parts = cost_by_part(context.origins)
    study = context.study
    names = {id: study.display("method", id) for id in study.methods}
    names |= {id: study.display("metric", id) for id in study.metrics}
    return Content(
        values={
            "stages": stages,
            "total": _total(stages),
            "parts": parts,
            "names": names,
            "duration": duration,
        },
        data=[
            {"stage": c.stage, "part": names.get(c.part, c.part), "jobs": c.jobs,
             "seconds": c.seconds}
            for c in parts
        ],
    )  # fmt: skip


def _total(stages: list[Cost]) -> Cost:
    measured = [cost.job_seconds for cost in stages if cost.job_seconds is not None]
    return Cost(
        stage="all",
        part="",
        jobs=sum(cost.jobs for cost in stages),
        seconds=sum(cost.seconds for cost in stages),
        gpu_seconds=sum(cost.gpu_seconds for cost in stages),
        devices=tuple(sorted({device for cost in stages for device in cost.devices})),
        job_seconds=sum(measured) if measured else None,
        peak_mb=max((cost.peak_mb for cost in stages if cost.peak_mb), default=None),
    )


SECTION = Section("cost", "Cost", _build, script="cost.js")
