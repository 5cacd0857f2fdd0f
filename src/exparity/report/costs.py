"""Costs of the jobs of a grid: sums over the table of ``exparity cost``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from exparity.artefacts.files import read_artefact
from exparity.artefacts.layout import PATHS, path_of
from exparity.core.grouping import grouped

Job = Mapping[str, Any]
_FOLDERS = dict.fromkeys(path.partition("/")[0] for path in PATHS.values())
_PARTS = {"explain": "method", "evaluate": "metric"}


@dataclass(frozen=True)
class Cost:
    """Costs of the jobs of a stage, or of a part of one."""

    stage: str
    part: str  # method or metric; empty for the whole stage
    jobs: int
    seconds: float  # of the work, where a job tells it apart from its start
    gpu_seconds: float
    devices: tuple[str, ...]
    job_seconds: float  # from start to end
    peak_mb: float  # largest resident memory of a job, in MiB; 0 without jobs

    @property
    def gpu_hours(self) -> float:
        """Hours with a GPU."""
        return self.gpu_seconds / 3600


def read_costs(results: Path) -> list[Job]:
    """Return the rows of the cost table in the order of a run; none if there is no table."""
    path = results / path_of("cost", {})
    jobs = read_artefact(path, "cost")[0].to_pylist() if path.is_file() else []
    places = {folder: place for place, folder in enumerate(_FOLDERS)}
    return sorted(jobs, key=lambda job: places.get(job["output"].partition("/")[0], len(places)))


def cost_by_stage(jobs: Iterable[Job]) -> list[Cost]:
    """Return the cost of each stage."""
    return [cost_of(of, stage) for stage, of in grouped(jobs, itemgetter("stage")).items()]


def cost_by_part(jobs: Iterable[Job]) -> list[Cost]:
    """Return the cost of explanations by method and of scores by metric."""
    parts = grouped(
        (job for job in jobs if job["stage"] in _PARTS),
        lambda job: (job["stage"], job[_PARTS[job["stage"]]]),
    )
    return [cost_of(of, *part) for part, of in parts.items()]


def cost_of(jobs: Sequence[Job], stage: str = "all", part: str = "") -> Cost:
    """Return the cost of some jobs."""

    def work(job: Job) -> float:
        return float(job["seconds"] if job["work_seconds"] is None else job["work_seconds"])

    return Cost(
        *(stage, part, len(jobs)),
        seconds=sum(map(work, jobs)),
        gpu_seconds=sum(work(job) for job in jobs if job["device"].startswith("cuda")),
        devices=tuple(sorted({job["device"] for job in jobs})),
        job_seconds=sum(job["seconds"] for job in jobs),
        peak_mb=max((job["max_rss_mb"] for job in jobs), default=0.0),
    )
