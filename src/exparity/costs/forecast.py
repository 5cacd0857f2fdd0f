"""What an experiment will take: its jobs, each with its estimate, as JSON and as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from exparity.costs.estimate import LEVELS, Estimator
from exparity.costs.finished import Finished, Job
from exparity.costs.totals import Total, aligned, gigabytes, hours, totals

_NAMED = 10
_MEANING = {
    "the same kind": "stage, method, metric, options, model and dataset are the same",
    "another dataset": "the same on another dataset, per example",
    "another model": "the same of another model, not scaled to this one",
    "other options": "the same method or metric with other options, not scaled",
    "another stage": "gathering shards, as a test takes",
}
_POOR = ("another model", "other options")


@dataclass
class Forecast:
    """What an experiment takes.

    Attributes:
        stages: the stages that have jobs, in the order of a run.
        total: all jobs.
        basis: how many jobs are estimated from finished ones of each of
            :data:`~exparity.costs.estimate.LEVELS`.
        undivided: jobs of which it is not known which part of the time grows with the examples.
        missing: kinds of jobs that nothing is known of, and how many there are.
    """

    stages: list[Total]
    total: Total
    basis: Counter[str]
    undivided: int
    missing: Counter[str]


def forecast(jobs: Iterable[Job], estimator: Estimator) -> Forecast:
    """Return what jobs take."""
    estimates = [(job, estimator.estimate(job.kind, job.examples or 0)) for job in jobs]
    *stages, total = totals((job, estimate.cost) for job, estimate in estimates)
    return Forecast(
        stages,
        total,
        basis=Counter(estimate.level for _, estimate in estimates if estimate.level),
        undivided=sum(not estimate.divided for _, estimate in estimates),
        missing=Counter(
            " ".join(job.kind.work[:2]) for job, estimate in estimates if not estimate.level
        ),
    )


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


def as_text(made: Forecast, config: str, known: Sequence[Finished], device: str) -> str:
    """Return a forecast as a person reads it, at most 80 columns wide.

    Args:
        made: the forecast.
        config: the config, as ``--configfile`` and ``--config`` name it.
        known: the folders that measurements come from.
        device: where jobs ran that run a model.
    """
    total = made.total
    lines = [f"{config}: {total.jobs:,} jobs, of which {total.finished:,} are finished"]
    for finished in known:
        if finished.jobs:
            lines.append(f"from {len(finished.jobs):,} finished jobs in {finished.folder}")
    if total.known:
        on = "on a GPU (cuda)" if device == "cuda" else "on the CPU"
        lines.append(f"jobs that run a model were measured {on}")
    model = "GPU-hours" if device == "cuda" else "model hours"
    head = ["stage", "jobs", "finished", "hours", "to go", model, "memory", "disk"]
    lines += ["", aligned([head, *map(_cells, [*made.stages, total])]), ""]
    if total.known:
        lines += _basis(made)
    if total.unknown or any(made.basis[level] for level in _POOR):
        lines += _remedy(made, config)
    return "\n".join(lines)


def _cells(total: Total) -> list[str]:
    counts = [total.stage, f"{total.jobs:,}", f"{total.finished:,}"]
    if not total.known:
        return counts + ["unknown"] * 5
    amounts = [hours(total.seconds), hours(total.seconds_to_go), hours(total.model_seconds)]
    more = "+" if total.unknown else ""
    return counts + [f"{a}{more}" for a in [*amounts, total.memory, gigabytes(total.bytes)]]


def _basis(made: Forecast) -> list[str]:
    lines = ["Basis: jobs by how alike the finished jobs are that they are estimated from"]
    counts = {_MEANING[level]: made.basis[level] for level in LEVELS}
    counts["nothing alike: unknown, and not in any sum (+)"] = made.total.unknown
    lines += [f"{f'{count:,}':>8}  {meaning}" for meaning, count in counts.items() if count]
    if made.undivided:
        lines.append(
            f"Of {made.undivided:,} jobs, nothing tells which part of the time grows with the\n"
            "examples: all of it is taken to grow"
        )
    return lines


def _remedy(made: Forecast, config: str) -> list[str]:
    lines = []
    if not made.total.known:
        lines = ["Nothing has been measured yet."]
    elif made.missing:
        names = [f"{name} ({count:,})" for name, count in made.missing.most_common(_NAMED)]
        if len(made.missing) > _NAMED:
            names.append(f"{len(made.missing) - _NAMED} more")
        lines = ["Unknown:", *(f"    {name}" for name in names)]
    return [
        *lines,
        "A small run here measures what is unknown or only alike:",
        f"    exparity plan --configfile {config} --measure",
    ]
