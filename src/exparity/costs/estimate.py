"""Estimates: what a planned job costs, from finished jobs as much like it as there are.

The time of a job is a start, which is the same for any number of examples, and work, which grows
with them. On the very jobs that they come from, estimates of the jobs of one kind add up to what
those took.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean
from typing import Any

from exparity.costs.finished import JobCost
from exparity.costs.kinds import Kind

# Numbers of examples this many times apart are far apart.
_SPREAD = 4


Point = tuple[int | None, float, float]
"""A number of examples, and what is measured: a part that is fixed, and one that grows."""


def fit(points: Sequence[Point], *, proportional: bool = True) -> tuple[float, float]:
    """Return the start of a line that amounts lie about, and its slope; their sum lies on it.

    The start is the mean of the fixed parts. The growing part grows in proportion to the examples,
    where amounts do.
    """
    known = [point for point in points if point[0] is not None] or points
    parts = zip(*known, strict=True)
    examples, fixed, growing = (fmean(amount or 0 for amount in part) for part in parts)
    return (fixed, growing / examples) if proportional and examples else (fixed + growing, 0.0)


@dataclass(frozen=True)
class Estimate:
    """What a planned job takes and what that rests on.

    Attributes:
        cost: the job with its amounts; None if nothing is known of such jobs.
        level: one of :data:`LEVELS`; None likewise.
        divided: whether it is known which part of the time grows with the examples.
    """

    cost: JobCost | None = None
    level: str | None = None
    divided: bool = True


class Estimator:
    """Estimates from finished jobs; of those that run a model, from those on the same device."""

    def __init__(self, jobs: Iterable[JobCost], device: str) -> None:
        self._alike: dict[tuple[str, Hashable], list[JobCost]] = defaultdict(list)
        self._amounts = cache(self._fit)
        for job in jobs:
            if job.seconds is None or (job.kind.runs_model and not job.device.startswith(device)):
                continue
            for level, view in LEVELS.items():
                self._alike[level, view(job.kind)].append(job)

    def estimate(self, kind: Kind, examples: int) -> Estimate:
        """Return what a job takes, from the finished jobs nearest to it."""
        for level, view in LEVELS.items():
            if (level, view(kind)) in self._alike:
                size = None if _in_parts(kind) else examples
                lines, memory, divided = self._amounts(level, view(kind), size)
                amounts: dict[str, Any] = {
                    name: start + each * examples for name, (start, each) in lines.items()
                }
                cost = JobCost(kind, examples, max_rss_mb=memory, **amounts)
                return Estimate(cost, level, divided)
        return Estimate()

    def _fit(
        self, level: str, alike: Hashable, size: int | None
    ) -> tuple[dict[str, tuple[float, float]], float | None, bool]:
        """Return amounts of jobs by their examples, most memory, and if they tell their work."""
        near = _near(self._alike[level, alike], size)
        telling = [job for job in near if job.work_seconds is not None]
        in_parts = _in_parts(near[0].kind)
        jobs = telling or near
        cpu = [_times(job, job.cpu_seconds) for job in jobs if job.cpu_seconds is not None]
        times = {"seconds": [_times(job, job.seconds or 0.0) for job in jobs], "cpu_seconds": cpu}
        sizes = [(job.examples, job.bytes - job.data_bytes, job.data_bytes) for job in jobs]
        lines = {n: fit(points, proportional=in_parts) for n, points in times.items() if points}
        memory = max((job.max_rss_mb for job in near if job.max_rss_mb), default=None)
        return {**lines, "bytes": fit(sizes)}, memory, bool(telling) or not in_parts


def _times(job: JobCost, amount: float) -> Point:
    """Divide an amount of a job as its seconds are; all of it grows if it does not tell."""
    share = 1.0
    if job.work_seconds is not None and job.seconds:
        share = job.work_seconds / job.seconds
    return job.examples, amount * (1 - share), amount * share


def _in_parts(kind: Kind) -> bool:
    """Return whether jobs take long where there are many examples, and tell which part grows."""
    # Others are mostly their start, and few examples can take longer than many (exact p-values).
    return kind.runs_model or kind.stage == "evaluate"


def _near(jobs: Sequence[JobCost], examples: int | None) -> Sequence[JobCost]:
    """Return the jobs of about as many examples; all if there are none, or for any number."""
    if examples is None:
        return jobs
    known = [(job, job.examples) for job in jobs if job.examples is not None]
    near = [job for job, n in known if n <= _SPREAD * examples and examples <= _SPREAD * n]
    return near or jobs


LEVELS: Mapping[str, Callable[[Kind], Hashable]] = {
    "the same kind": lambda kind: kind,
    "the same work": lambda kind: kind.work,
}
"""How alike finished jobs are to a planned one; the nearest first."""
