"""A plan as text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from exparity.costs.estimate import LEVELS
from exparity.costs.finished import Finished
from exparity.costs.plan import Plan, StagePlan
from exparity.costs.table import MIB, aligned, gigabytes, hours

_NAMED = 10
_MEANING = {
    "the same kind": "stage, method, metric, options, model and dataset are the same",
    "another dataset": "the same on another dataset, per example",
    "another model": "the same of another model, not scaled to this one",
    "other options": "the same method or metric with other options, not scaled",
    "another stage": "gathering shards, as a test takes",
}
_POOR = ("another model", "other options")


def text(made: Plan, config: Path, known: Sequence[Finished], device: str) -> str:
    """Return a plan as a person reads it, at most 80 columns wide.

    Args:
        made: the plan.
        config: the config file.
        known: the folders that measurements come from.
        device: where jobs ran that run a model.
    """
    total = made.total
    lines = [f"{config}: {total.jobs:,} jobs, of which {total.finished:,} are finished"]
    for found in known:
        if found.jobs:
            lines.append(f"from {len(found.jobs):,} finished jobs in {found.folder}")
    if total.unknown < total.jobs:
        on = "on a GPU (cuda)" if device == "cuda" else "on the CPU"
        lines.append(f"jobs that run a model were measured {on}")
    lines += ["", _table(made, device), ""]
    if total.unknown < total.jobs:
        lines += _basis(made)
    if total.unknown or any(made.basis[level] for level in _POOR):
        lines += _remedy(made, config)
    return "\n".join(lines)


def _table(made: Plan, device: str) -> str:
    model = "GPU-hours" if device == "cuda" else "model hours"
    rows = [["stage", "jobs", "finished", "hours", "to go", model, "memory", "disk"]]
    return aligned(rows + [_cells(row) for row in [*made.stages.values(), made.total]])


def _cells(row: StagePlan) -> list[str]:
    counts = [row.stage, f"{row.jobs:,}", f"{row.finished:,}"]
    if row.unknown == row.jobs:
        return counts + ["unknown"] * 5
    more = "+" if row.unknown else ""
    memory = None if row.max_rss_mb is None else row.max_rss_mb * MIB
    amounts = [hours(row.seconds), hours(row.seconds_to_go), hours(row.model_seconds)]
    return counts + [f"{a}{more}" for a in [*amounts, gigabytes(memory), gigabytes(row.bytes)]]


def _basis(made: Plan) -> list[str]:
    lines = ["Basis: jobs by how alike the finished jobs are that they are estimated from"]
    rows = [[f"{made.basis[level]:,}", _MEANING[level]] for level in LEVELS if made.basis[level]]
    if made.total.unknown:
        rows.append([f"{made.total.unknown:,}", "nothing alike: unknown, and not in any sum (+)"])
    lines += [f"{count:>8}  {meaning}" for count, meaning in rows]
    if made.undivided:
        lines.append(
            f"Of {made.undivided:,} jobs, nothing tells which part of the time grows with the\n"
            "examples: all of it is taken to grow"
        )
    return lines


def _remedy(made: Plan, config: Path) -> list[str]:
    lines = []
    if made.total.unknown == made.total.jobs:
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
