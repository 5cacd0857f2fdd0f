"""What jobs take together, stage by stage, finished or still to come, as JSON and as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from exparity.core.formats import aligned
from exparity.core.grouping import grouped
from exparity.costs.estimate import LEVELS, Estimator
from exparity.costs.finished import Finished, JobCost
from exparity.resources import resource

_HOUR = 3600.0
_MIB = 1 << 20  # what Snakemake and exparity call an MB of memory
_NAMED = 10
_MEANING = {
    "the same kind": "stage, method, metric, options, model and dataset are the same",
    "the same work": "the same stage, method and metric, per example, not scaled",
}


@dataclass
class Total:
    """The jobs of a stage, or ``total``; sums are over those whose amount is known.

    ``unknown`` jobs are those whose time is not known, and ``max_rss_mb`` is the most of one job.
    CPU time and memory are None if nothing tells.
    """

    stage: str
    jobs: int
    finished: int
    unknown: int
    seconds: float
    seconds_to_go: float
    model_seconds: float
    cpu_seconds: float | None
    max_rss_mb: float | None
    bytes: float

    @property
    def known(self) -> bool:
        """Whether the time of any job is known."""
        return self.unknown < self.jobs

    @property
    def memory(self) -> str:
        """Most memory of a job, as a person reads it."""
        return gigabytes(None if self.max_rss_mb is None else self.max_rss_mb * _MIB)


def totals(jobs: Iterable[JobCost]) -> list[Total]:
    """Return the total of every stage in the order in which they come, and of all jobs."""
    stages = grouped(jobs, lambda job: job.kind.stage)
    all_jobs = [job for group in stages.values() for job in group]
    return [*(_total(*stage) for stage in stages.items()), _total("total", all_jobs)]


def _total(stage: str, jobs: Sequence[JobCost]) -> Total:
    timed = [(job, job.seconds) for job in jobs if job.seconds is not None]
    cpu = [job.cpu_seconds for job in jobs if job.cpu_seconds is not None]
    return Total(
        stage,
        jobs=len(jobs),
        finished=sum(job.finished for job in jobs),
        unknown=len(jobs) - len(timed),
        seconds=sum(seconds for _, seconds in timed),
        seconds_to_go=sum(seconds for job, seconds in timed if not job.finished),
        model_seconds=sum(seconds for job, seconds in timed if job.kind.runs_model),
        cpu_seconds=sum(cpu) if cpu else None,
        max_rss_mb=max(
            (job.max_rss_mb for job in jobs if job.max_rss_mb is not None), default=None
        ),
        bytes=sum(job.bytes for job in jobs),
    )


def hours(seconds: float | None) -> str:
    """Return a time in hours with two or three digits."""
    if seconds is None:
        return "unknown"
    amount = seconds / _HOUR
    if amount == 0:
        return "0"
    if amount < 0.01:
        return f"{amount:.4f}"
    return f"{amount:,.0f}" if amount >= 100 else f"{amount:.3g}"


def gigabytes(bytes: float | None) -> str:
    """Return an amount of memory or disk."""
    if bytes is None:
        return "unknown"
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if bytes >= size:
            amount = bytes / size
            return f"{amount:,.0f} {unit}" if amount >= 10 else f"{amount:.1f} {unit}"
    return f"{bytes / 1e3:.0f} kB"


@dataclass
class Forecast:
    """What an experiment takes, by stage and in all.

    Attributes:
        basis: how many jobs are estimated from finished ones of each of
            :data:`~exparity.costs.estimate.LEVELS`.
        undivided: jobs whose time cannot be split into a start and a time per example.
        missing: kinds of jobs that nothing is known of, and how many there are.
        costs: what each job takes, in the order in which they were given.
    """

    stages: list[Total]
    total: Total
    basis: Counter[str]
    undivided: int
    missing: Counter[str]
    costs: list[JobCost]


def forecast(jobs: Iterable[JobCost], estimator: Estimator) -> Forecast:
    """Return what jobs take."""
    estimates = [(job, estimator.estimate(job.kind, job.examples or 0)) for job in jobs]
    costs = [replace(estimate.cost or job, finished=job.finished) for job, estimate in estimates]
    *stages, total = totals(costs)
    return Forecast(
        stages,
        total,
        basis=Counter(estimate.level for _, estimate in estimates if estimate.level),
        undivided=sum(not estimate.divided for _, estimate in estimates),
        missing=Counter(
            " ".join(job.kind.work[:2]) for job, estimate in estimates if not estimate.level
        ),
        costs=costs,
    )


def at_trainings(costs: Sequence[JobCost], now: Sequence[int], trainings: int) -> tuple[int, float]:
    """Return how many jobs there are with another number of trainings, and their seconds.

    Jobs that are not of one training take as long as now. Jobs of unknown time are in no sum.
    """
    shares = [trainings / of if of else 1.0 for of in now]
    seconds = sum((job.seconds or 0.0) * share for job, share in zip(costs, shares, strict=True))
    return round(sum(shares)), seconds


def plain(made: Forecast) -> Mapping[str, Any]:
    """Return a forecast as plain values; unknown ones are null."""
    return {
        "stages": [_values(stage) for stage in made.stages],
        "total": _values(made.total),
        "basis": {**{level: made.basis[level] for level in LEVELS}, "none": made.total.unknown},
        "undivided": made.undivided,
        "missing": dict(made.missing),
    }


def _values(total: Total) -> dict[str, Any]:
    unknown = () if total.known else ("seconds", "seconds_to_go", "model_seconds", "bytes")
    return {**vars(total), **dict.fromkeys(unknown)}


def plan_text(made: Forecast, config: str, known: Sequence[Finished], device: str) -> str:
    """Return a forecast as a person reads it, at most 80 columns wide."""
    from jinja2 import Template

    model = "GPU-hours" if device == "cuda" else "model hours"
    head = ["stage", "jobs", "finished", "hours", "to go", model, "memory", "disk"]
    source = resource("plan.txt.j2").read_text(encoding="utf-8")
    text: str = Template(source, trim_blocks=True, lstrip_blocks=True).render(
        config=config,
        total=made.total,
        made=made,
        known=known,
        device=device,
        table=aligned([head, *map(_cells, [*made.stages, made.total])]),
        meanings=_MEANING,
        named=_NAMED,
    )
    return text.rstrip("\n")


def _cells(total: Total) -> list[str]:
    counts = [total.stage, f"{total.jobs:,}", f"{total.finished:,}"]
    if not total.known:
        return counts + ["unknown"] * 5
    amounts = [hours(total.seconds), hours(total.seconds_to_go), hours(total.model_seconds)]
    more = "+" if total.unknown else ""
    return counts + [f"{a}{more}" for a in [*amounts, total.memory, gigabytes(total.bytes)]]
