"""Tool cost: a table of the time and memory of each finished job."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from pathlib import Path

from exparity.artefacts import layout
from exparity.artefacts.files import job, write_artefact
from exparity.artefacts.grid import read_grid
from exparity.artefacts.lineage import identity, lineage
from exparity.artefacts.schemas import IDS
from exparity.config import digests
from exparity.config.command_line import results_of
from exparity.core.errors import InputError
from exparity.core.escaping import say
from exparity.core.flags import ConfigFiles, Folder, Output, Overrides
from exparity.costs.finished import JobCost, read_finished
from exparity.costs.forecast import table, totals

_COLUMNS = [field.name for field in fields(JobCost) if field.name not in ("ids", "finished")]


def cost(
    results: Folder | None = None,
    /,
    output: Output | None = None,
    *,
    configfile: ConfigFiles = (),
    config: Overrides = (),
) -> None:
    """Gather time and memory of every finished job.

    It prints a summary.

    Args:
        results: folder of results; if None, the one of ``output``, of the config, or ``results``.
        output: the cost artefact to write; ``cost.parquet`` there if None.
        configfile: the experiment; its results folder is read.
        config: values over those of the config file.
    """
    if output and not (results or configfile or config):
        results = output.parent
    results = results_of(results, configfile, config)
    grid = read_grid(results)
    key = ""
    if grid:
        read = map(Path, layout.report_files(results, grid))
        key = lineage({"digest": digests.cost()}, map(identity, read))
    with job(key):
        jobs = read_finished(results)
        if not jobs:
            raise InputError(f"{results}: no finished job there; is it a folder of results?")
        rows = [
            {name: getattr(job, name) for name in _COLUMNS}
            | {name: job.ids.get(name) for name in IDS}
            for job in jobs
        ]
        path = output or results / layout.path_of("cost", {})
        write_artefact(path, "cost", rows, {}, parameters={})
    say(table(totals(jobs)))
    if devices := Counter(job.device for job in jobs if job.runs_model).most_common():
        counts = ", ".join(f"{device} ({count:,})" for device, count in devices)
        say(f"jobs that run a model ran on {counts}")
