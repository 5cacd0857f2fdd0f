"""Forecast of costs: estimates of jobs that are still to come, and sums by stage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from exparity.core.formats import aligned
from exparity.core.grouping import grouped
from exparity.costs.finished import JobCost

HEAD = ("stage", "jobs", "finished", "hours", "to go", "CPU-hours", "model hours", "memory", "disk")


@dataclass(frozen=True)
class Total:
    """The jobs of a stage, or ``total``; amounts are sums over those whose time is known."""

    stage: str
    jobs: int
    finished: int
    unknown: int  # jobs whose time is not known
    seconds: float
    seconds_to_go: float
    model_seconds: float
    cpu_seconds: float
    max_rss_mb: float | None  # of one job
    bytes: float


def totals(jobs: Sequence[JobCost]) -> list[Total]:
    """Return the total of every stage in the order in which they come, and of all jobs."""
    stages = grouped(jobs, lambda job: job.stage)
    return [*(total(*stage) for stage in stages.items()), total("total", jobs)]


def total(stage: str, jobs: Sequence[JobCost]) -> Total:
    """Return the total of jobs under a name."""

    def seconds(counts: Callable[[JobCost], bool] = lambda _: True) -> float:
        return sum(job.seconds or 0.0 for job in jobs if counts(job))

    return Total(
        stage,
        jobs=len(jobs),
        finished=sum(job.finished for job in jobs),
        unknown=sum(job.seconds is None for job in jobs),
        seconds=seconds(),
        seconds_to_go=seconds(lambda job: not job.finished),
        model_seconds=seconds(lambda job: job.runs_model),
        cpu_seconds=sum(job.cpu_seconds or 0.0 for job in jobs),
        max_rss_mb=max((job.max_rss_mb for job in jobs if job.max_rss_mb), default=None),
        bytes=sum(job.bytes for job in jobs),
    )


def estimated(
    planned: Iterable[JobCost], finished: Iterable[JobCost], device: str
) -> list[JobCost]:
    """Return planned jobs with what each takes, as finished ones of its stage and method did.

    Jobs of the same dataset and model count where there are any, and else those of others; of jobs
    that run a model, those on the device. A job takes the mean time that those needed beside their
    work, and work in proportion to its examples.
    """
    alike: dict[tuple[object, ...], list[JobCost]] = defaultdict(list)
    for job in finished:
        if job.seconds is not None and not (job.runs_model and not job.device.startswith(device)):
            for key in _keys(job):
                alike[key].append(job)
    return [
        _estimate(job, next((alike[key] for key in _keys(job) if key in alike), []))
        for job in planned
    ]


def _keys(job: JobCost) -> Iterator[tuple[object, ...]]:
    """Yield what other jobs have in common with one; the nearest first."""
    work = job.stage, job.ids.get("method"), job.ids.get("metric")
    yield *work, job.ids.get("dataset"), job.ids.get("model")
    yield work


def _estimate(job: JobCost, alike: Sequence[JobCost]) -> JobCost:
    if not alike:
        return job
    work = sum(other.work_seconds or 0.0 for other in alike)
    examples = sum(other.examples or 0 for other in alike if other.work_seconds is not None)
    total = sum(other.seconds or 0.0 for other in alike)
    seconds = (total - work) / len(alike)
    seconds += work / examples * (job.examples or 0) if examples else work / len(alike)
    cpu = sum(other.cpu_seconds or 0.0 for other in alike)
    return replace(
        job,
        seconds=seconds,
        cpu_seconds=seconds * cpu / total if total else 0.0,
        max_rss_mb=max((other.max_rss_mb for other in alike if other.max_rss_mb), default=None),
        bytes=fmean(other.bytes for other in alike),
    )


def at_trainings(jobs: Sequence[JobCost], now: int, trainings: int) -> tuple[int, float]:
    """Return how many jobs there are with another number of trainings, and their known seconds."""
    shares = [trainings / now if "seed" in job.ids else 1.0 for job in jobs]
    seconds = sum((job.seconds or 0.0) * share for job, share in zip(jobs, shares, strict=True))
    return round(sum(shares)), seconds


def table(rows: Sequence[Total]) -> str:
    """Return totals as a table of at most 90 columns; a sum with an unknown part has a ``+``."""
    return aligned([list(HEAD), *map(_cells, rows)])


def _cells(row: Total) -> list[str]:
    counts = [row.stage, f"{row.jobs:,}", f"{row.finished:,}"]
    if row.unknown == row.jobs:
        return counts + ["unknown"] * 6
    times = (row.seconds, row.seconds_to_go, row.cpu_seconds, row.model_seconds)
    memory = None if row.max_rss_mb is None else row.max_rss_mb * (1 << 20)
    amounts = [*map(hours, times), gigabytes(memory), gigabytes(row.bytes)]
    return counts + [f"{amount}{'+' if row.unknown else ''}" for amount in amounts]


def hours(seconds: float) -> str:
    """Return a time in hours with two or three digits."""
    amount = seconds / 3600
    if amount >= 100:
        return f"{amount:,.0f}"
    return f"{amount:.4f}" if 0 < amount < 0.01 else f"{amount:.3g}"


def gigabytes(bytes: float | None) -> str:
    """Return an amount of memory or disk."""
    if bytes is None:
        return "unknown"
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if bytes >= size:
            amount = bytes / size
            return f"{amount:,.0f} {unit}" if amount >= 10 else f"{amount:.1f} {unit}"
    return f"{bytes / 1e3:.0f} kB"
