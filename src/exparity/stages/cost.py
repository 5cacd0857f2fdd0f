"""Stage cost: benchmarks and artefacts of a results folder to what each job took."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from exparity.artefacts.files import write_artefact
from exparity.core.errors import InputError
from exparity.core.escaping import say
from exparity.core.flags import Folder, Output
from exparity.costs.finished import read_finished
from exparity.costs.job import FinishedJob
from exparity.costs.kinds import STAGES
from exparity.costs.table import MIB, aligned, gigabytes, hours

log = logging.getLogger(__name__)
_NAMED = 10
_IDS = ("dataset", "model", "seed", "method", "metric")


def cost(results: Folder | None = None, output: Output | None = None) -> None:
    """Gather what every finished job took.

    A summary is printed. Files that no sense can be made of are named in the log and left out;
    what a job without a benchmark took is null.

    Args:
        results: folder of results; that of ``output`` if None, or ``results``.
        output: the cost artefact to write; ``cost.parquet`` there if None.

    Raises:
        InputError: there is no such folder, or no finished job in it.
    """
    start = time.monotonic()
    results = results or (output.parent if output else Path("results"))
    if not results.is_dir():
        raise InputError(f"{results}: no such folder; name a folder of results with --results")
    found = read_finished(results)
    for line in found.odd[:_NAMED]:
        log.warning("left out: %s", line)
    if len(found.odd) > _NAMED:
        log.warning("left out: %d more files", len(found.odd) - _NAMED)
    if not found.jobs:
        raise InputError(f"{results}: no finished job there; is it a folder of results?")
    write_artefact(
        output or results / "cost.parquet",
        "cost",
        [_row(job) for job in found.jobs],
        {},
        stage="cost",
        parameters={},
        seconds=time.monotonic() - start,
    )
    say(summary(found.jobs))


def summary(jobs: Sequence[FinishedJob]) -> str:
    """Return what finished jobs took, stage by stage, as a table."""
    rows = [["stage", "jobs", "hours", "CPU-hours", "model hours", "memory", "disk"]]
    for stage in [*STAGES, "total"]:
        chosen = [job for job in jobs if stage in (job.kind.stage, "total")]
        if not chosen:
            continue
        memory = [job.max_rss_mb for job in chosen if job.max_rss_mb is not None]
        timed = [job for job in chosen if job.seconds is not None]
        rows.append(
            [
                stage,
                f"{len(chosen):,}",
                hours(sum(job.seconds or 0.0 for job in timed) if timed else None),
                hours(sum(job.cpu_seconds or 0.0 for job in chosen)),
                hours(sum(job.seconds or 0.0 for job in timed if job.kind.runs_model)),
                gigabytes(max(memory) * MIB if memory else None),
                gigabytes(sum(job.bytes for job in chosen)),
            ]
        )
    text = aligned(rows)
    devices = Counter(job.device for job in jobs if job.kind.runs_model)
    if devices:
        named = ", ".join(f"{device} ({count:,})" for device, count in devices.most_common())
        text += f"\njobs that run a model ran on {named}"
    untimed = sum(job.seconds is None for job in jobs)
    if untimed:
        text += f"\n{untimed:,} jobs have no benchmark: their hours are not known and not counted"
    return text


def _row(job: FinishedJob) -> dict[str, Any]:
    return {
        "output": job.output,
        "stage": job.kind.stage,
        **{name: job.ids.get(name) for name in _IDS},
        "shard": job.shard,
        "examples": job.examples,
        "seconds": job.seconds,
        "work_seconds": job.work_seconds,
        "cpu_seconds": job.cpu_seconds,
        "max_rss_mb": job.max_rss_mb,
        "device": job.device,
        "runs_model": job.kind.runs_model,
        "bytes": job.bytes,
    }
