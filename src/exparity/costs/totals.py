"""Costs stage by stage: what their jobs take together, and amounts as a person reads them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from exparity.costs.estimate import Cost
from exparity.costs.finished import Job

_HOUR = 3600.0
_MIB = 1 << 20  # what Snakemake and exparity call an MB of memory


@dataclass
class Total:
    """The jobs of a stage; sums are over those whose amount is known.

    Attributes:
        stage: the stage, or ``total``.
        jobs: all jobs, finished or not.
        finished: of these, those that need not run.
        unknown: of these, those whose time is not known.
        seconds: of all jobs.
        seconds_to_go: of the jobs that are not finished.
        model_seconds: of the jobs that run a model.
        cpu_seconds: of all jobs; None if nothing tells.
        max_rss_mb: most memory of a job; None if nothing tells.
        bytes: size of all outputs.
    """

    stage: str
    jobs: int = 0
    finished: int = 0
    unknown: int = 0
    seconds: float = 0.0
    seconds_to_go: float = 0.0
    model_seconds: float = 0.0
    cpu_seconds: float | None = None
    max_rss_mb: float | None = None
    bytes: float = 0.0

    def add(self, job: Job, cost: Cost | None) -> None:
        """Count a job and what it takes."""
        self.jobs += 1
        self.finished += job.finished
        self.unknown += cost is None or cost.seconds is None
        if cost is None:
            return
        self.bytes += cost.bytes
        if cost.seconds is not None:
            self.seconds += cost.seconds
            self.seconds_to_go += 0.0 if job.finished else cost.seconds
            self.model_seconds += cost.seconds if job.kind.runs_model else 0.0
        if cost.cpu_seconds is not None:
            self.cpu_seconds = (self.cpu_seconds or 0.0) + cost.cpu_seconds
        if cost.max_rss_mb is not None:
            self.max_rss_mb = max(self.max_rss_mb or 0.0, cost.max_rss_mb)

    @property
    def known(self) -> bool:
        """Whether the time of any job is known."""
        return self.unknown < self.jobs

    @property
    def memory(self) -> str:
        """Most memory of a job, as a person reads it."""
        return gigabytes(None if self.max_rss_mb is None else self.max_rss_mb * _MIB)


def totals(costs: Iterable[tuple[Job, Cost | None]]) -> list[Total]:
    """Return the total of every stage in the order in which they come, and of all jobs."""
    stages: dict[str, Total] = {}
    total = Total("total")
    for job, cost in costs:
        stage = stages.setdefault(job.kind.stage, Total(job.kind.stage))
        stage.add(job, cost)
        total.add(job, cost)
    return [*stages.values(), total]


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as columns: the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = [first.ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


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
