"""The jobs of an experiment: those of the DAG that Snakemake makes of the workflow."""

from __future__ import annotations

import gc
import json
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from exparity.artefacts.schemas import IDS
from exparity.core.errors import InputError
from exparity.costs.counts import ExampleCounts
from exparity.costs.finished import Job
from exparity.costs.kinds import GATHER, Ids, Kind, kind_of

# What gathers what the others took is no part of what an experiment takes.
_ACCOUNTS = "cost"


@dataclass(frozen=True)
class DagJob:
    """A job of Snakemake's DAG.

    Attributes:
        stage: its rule; that of the whole cell for a shard.
        ids: its wildcards, of those that name a cell.
        options: what the workflow hands it, as JSON.
        shard: its number and how many there are, of a shard.
        gathers: whether it puts shards together.
        finished: whether Snakemake would leave it out.
    """

    stage: str
    ids: Ids = ()
    options: str = "{}"
    shard: tuple[int, int] | None = None
    gathers: bool = False
    finished: bool = False

    @cached_property
    def parameters(self) -> Any:
        """Its options as the metadata of its artefact will have them."""
        own = json.loads(self.options)
        own.pop("digest", None)
        if self.stage == "prepare":
            return {**own.pop("params"), "use": own["use"]}
        blocks = [value for value in own.values() if isinstance(value, dict)]
        return blocks[0] if len(own) == len(blocks) == 1 else own


def dag_jobs(
    snakefile: Path, *configfiles: Path, config: Mapping[str, Any] | None = None
) -> list[DagJob]:
    """Return the jobs that Snakemake has for a config, finished or not, rule by rule.

    Args:
        snakefile: the workflow.
        configfiles: files of a config that is known to be good.
        config: values over those of the files.

    Raises:
        InputError: Snakemake cannot make a DAG of it.
    """
    from snakemake.api import SnakemakeApi
    from snakemake.exceptions import RuleException, WorkflowError
    from snakemake.settings.enums import Quietness
    from snakemake.settings.types import (
        ConfigSettings,
        ExecutionSettings,
        OutputSettings,
        ResourceSettings,
    )

    # So quiet, a dry run ends with its DAG, before it goes through all jobs.
    quiet = OutputSettings(quiet={Quietness.RULES, Quietness.PROGRESS})
    try:
        with _as_it_was(), SnakemakeApi(quiet) as api:
            workflow = api.workflow(
                resource_settings=ResourceSettings(cores=1),
                config_settings=ConfigSettings(
                    config=dict(config or {}), configfiles=[path.absolute() for path in configfiles]
                ),
                snakefile=snakefile,
            )
            workflow.dag().execute_workflow(
                "dryrun", execution_settings=ExecutionSettings(lock=False, ignore_incomplete=True)
            )
            made = workflow._workflow  # the API names no other way to it
            order = {rule.name: place for place, rule in enumerate(made.rules)}
            jobs = [job for job in made.dag.jobs if job.output and job.rule.name != _ACCOUNTS]
            read = [_read(job, made.dag.needrun(job)) for job in jobs]
            return sorted(read, key=lambda job: (order[job.stage], job.gathers))
    except (RuleException, WorkflowError) as error:
        raise InputError(f"{configfiles[-1]}: {' '.join(str(error).split())}") from None


def _read(job: Any, needed: bool) -> DagJob:
    wildcards, shard = job.wildcards_dict, None
    if "shard" in wildcards:
        shard = int(wildcards["shard"]), int(wildcards["shards"])
    return DagJob(
        stage=job.rule.name.removesuffix("_shard") if shard else job.rule.name,
        ids=tuple(wildcards[name] for name in IDS if name in wildcards),
        options=job.params.get("options", "{}"),
        shard=shard,
        gathers=bool(job.input.get("shards")) and not shard,
        finished=not needed,
    )


@contextmanager
def _as_it_was() -> Iterator[None]:
    """Undo what the workflow sets for a process that is to run it, and keep its news to itself."""
    environment, thresholds = dict(os.environ), gc.get_threshold()
    disabled = logging.root.manager.disable
    logging.disable(logging.INFO)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(environment)
        gc.set_threshold(*thresholds)
        logging.disable(disabled)


def planned_jobs(jobs: list[DagJob], counts: ExampleCounts) -> Iterator[Job]:
    """Yield the jobs of a DAG with the kind of each and the number of its examples."""
    cells = {(job.stage, job.ids): job.parameters for job in jobs if not job.shard}
    tests = sum(job.stage == "test" for job in jobs)
    for job in jobs:
        examples = _examples(job, cells, counts) if job.ids else tests
        kind = Kind((GATHER,))
        if not job.gathers:
            kind = kind_of(job.stage, job.ids, job.parameters, lambda *cell: cells.get(cell))
        if job.shard:
            index, of = job.shard
            examples = examples // of + (index <= examples % of)
        yield Job(kind, examples, job.finished)


def _examples(job: DagJob, cells: Mapping[tuple[str, Ids], Any], counts: ExampleCounts) -> int:
    """Return what a job works on: the examples of its cell, as far as they are not sampled."""
    dataset = job.ids[0]
    if len(job.ids) == 1:
        return counts.total(dataset)
    if job.stage == "finetune":
        return int(job.parameters["training"]["epochs"]) * counts.train(dataset)
    before = [("explain", job.ids[:4]), ("evaluate", job.ids[:5])][: max(0, len(job.ids) - 3)]
    sampled = [cells[key] for key in before] or [job.parameters]
    return counts.test(dataset, *(parameters.get("max_examples") for parameters in sampled))
