"""The plan of an experiment: its jobs and what they cost, stage by stage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from exparity.costs.estimate import LEVELS, Cost, Estimator
from exparity.costs.kinds import STAGES
from exparity.costs.planned import PlannedJob


@dataclass
class StagePlan:
    """The jobs of a stage; sums are over those whose cost is known.

    Attributes:
        stage: one of :data:`~exparity.costs.kinds.STAGES`, or ``total``.
        jobs: all jobs, finished or not.
        finished: of these, those whose output is there.
        unknown: of these, those whose cost is not known.
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

    def add(self, job: PlannedJob, cost: Cost | None) -> None:
        """Count a job."""
        self.jobs += 1
        self.finished += job.finished
        if cost is None:
            self.unknown += 1
            return
        self.seconds += cost.seconds
        self.seconds_to_go += 0.0 if job.finished else cost.seconds
        self.model_seconds += cost.seconds if job.kind.runs_model else 0.0
        self.bytes += cost.bytes
        if cost.cpu_seconds is not None:
            self.cpu_seconds = (self.cpu_seconds or 0.0) + cost.cpu_seconds
        if cost.max_rss_mb is not None:
            self.max_rss_mb = max(self.max_rss_mb or 0.0, cost.max_rss_mb)


@dataclass
class Plan:
    """What an experiment costs.

    Attributes:
        stages: the stages that have jobs, in the order of a run.
        total: all jobs.
        basis: how many jobs are estimated from finished ones of each of
            :data:`~exparity.costs.estimate.LEVELS`.
        undivided: jobs of which it is not known which part of the time grows with the examples.
        missing: kinds of jobs that nothing is known of, and how many there are.
    """

    stages: dict[str, StagePlan] = field(default_factory=dict)
    total: StagePlan = field(default_factory=lambda: StagePlan("total"))
    basis: Counter[str] = field(default_factory=Counter)
    undivided: int = 0
    missing: Counter[str] = field(default_factory=Counter)


def make_plan(jobs: Iterable[PlannedJob], estimator: Estimator) -> Plan:
    """Return what jobs cost."""
    plan = Plan(stages={stage: StagePlan(stage) for stage in STAGES})
    for job in jobs:
        found = estimator.estimate(job.kind, job.examples)
        for row in (plan.stages[job.kind.stage], plan.total):
            row.add(job, found.cost)
        if found.level is None:
            plan.missing[" ".join(filter(None, (job.kind.stage, job.kind.use)))] += 1
        else:
            plan.basis[found.level] += 1
            plan.undivided += not found.divided
    plan.stages = {name: row for name, row in plan.stages.items() if row.jobs}
    return plan


def as_json(plan: Plan) -> Mapping[str, Any]:
    """Return a plan as plain values; unknown ones are null."""
    return {
        "stages": [_row(row) for row in plan.stages.values()],
        "total": _row(plan.total),
        "basis": {**{level: plan.basis[level] for level in LEVELS}, "none": plan.total.unknown},
        "undivided": plan.undivided,
        "missing": dict(plan.missing),
    }


def _row(row: StagePlan) -> dict[str, Any]:
    values = dict(vars(row))
    if row.unknown == row.jobs:
        values |= dict.fromkeys(("seconds", "seconds_to_go", "model_seconds", "bytes"))
    return values
