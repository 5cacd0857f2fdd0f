"""Costs of the jobs of a grid, in the totals that ``exparity cost`` prints."""

from __future__ import annotations

from pathlib import Path

from exparity.artefacts.files import read_artefact
from exparity.artefacts.layout import path_of
from exparity.artefacts.schemas import IDS
from exparity.core.grouping import grouped
from exparity.costs.finished import JobCost, artefact_of_stage
from exparity.costs.forecast import Total, total

_PARTS = {"explain": "method", "evaluate": "metric"}


def read_costs(results: Path) -> list[JobCost]:
    """Return the jobs of the cost table in the order of a run; none if there is no table."""
    path = results / path_of("cost", {})
    rows = read_artefact(path, "cost")[0].to_pylist() if path.is_file() else []
    places = {stage: place for place, stage in enumerate(artefact_of_stage())}
    jobs = [JobCost(ids={name: row.pop(name) for name in IDS}, **row) for row in rows]
    return sorted(jobs, key=lambda job: places.get(job.stage, len(places)))


def totals_by_part(jobs: list[JobCost]) -> dict[tuple[str, str], Total]:
    """Return totals of explanations and scores, by stage and method or metric."""
    parts = grouped(
        (job for job in jobs if job.stage in _PARTS),
        lambda job: (job.stage, str(job.ids[_PARTS[job.stage]])),
    )
    return {part: total(part[1], of) for part, of in parts.items()}
