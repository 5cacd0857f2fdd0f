"""Start of a run, also where another workflow imports this one.

Snakemake calls the ``onstart`` of the main file alone, and that only after it has planned. It asks
the rules for their inputs before it looks at any file, of a module too, and for the parameters of a
job when that is about to start. The first function for inputs that it calls also calls
:func:`before_plan`, and the first one for parameters :func:`before_jobs`. All of Snakemake's
attributes that are used here are public, though few of them are documented.
"""

from __future__ import annotations

import atexit
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from exparity.artefacts import layout
from exparity.artefacts.ids import Ids
from exparity.config.experiment import Experiment, search_path
from exparity.config.start import Models, check_before_jobs
from exparity.config.tasks import mark_outdated, result_times, runs_model, up_to_date
from exparity.core.errors import InputError, exit_on_bad_input
from exparity.core.escaping import visible
from exparity.costs.calls import check_calls
from exparity.jobs.locks import hold
from exparity.runs.queue import cancel_leftovers, check_ends_are_told
from exparity.runs.trainings import watch_trainings
from exparity.warm.start import ENGINE, FACTS, THREAD_VARIABLES, start_server

checks_first = True
"""Whether a run checks models and data before it plans; a process may ask for a plan alone."""
_STAYING = "exparity.cli:run_and_stay_if_small"
"""Function that does a job of a run on one machine."""
_LEAST_ADDRESS_SPACE = 2_000_000_000
"""Bytes. Importing torch and transformers takes most of it; with less, threads and jobs fail."""


def check_address_space() -> None:
    """Refuse a limit under which neither Snakemake nor the jobs, which inherit it, get far.

    Raises:
        InputError: the limit of this process's address space is too low.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < _LEAST_ADDRESS_SPACE:
        raise InputError(
            f"ulimit -v: {limit // 1024} kB of address space are too few for torch; set it to "
            f"{_LEAST_ADDRESS_SPACE // 1024} at least, or to unlimited"
        )


def lock_folders(results: str) -> None:
    """Keep other runs out: of Snakemake's own records, and of results shared with elsewhere."""
    hold(Path(".snakemake", "exparity.lock"), "this folder")
    hold(Path(results, ".exparity.lock"), f"the results folder {results}")


def fail_without_inputs(workflow: Any) -> None:
    """Have a submission that waits in vain for its inputs end with 1.

    Snakemake says so and ends with 0: SLURM would call the submission completed, and the run would
    wait a minute for each of its outputs.
    """

    def end() -> None:
        if not all(map(os.path.exists, workflow.execution_settings.wait_for_files or ())):
            os._exit(1)

    if workflow.remote_exec:
        atexit.register(end)


def before_plan(workflow: Any, experiment: Experiment) -> None:
    """Settle what earlier runs and attempts have left, so that the plan counts what is there."""
    with exit_on_bad_input():
        check_address_space()
    if workflow.remote_exec:
        # A job that fails ends alone: the others of a submission need not wait for the next one.
        workflow.execution_settings.keep_going = True
        # `attempt` counts those that Snakemake sent, and the variable is set by SLURM's own.
        if workflow.execution_settings.attempt > 1 or "SLURM_RESTART_COUNT" in os.environ:
            # `forcefiles` are made though they are there. A submission forces all of its jobs.
            workflow.dag.forcefiles = _Unfinished(experiment)
    elif workflow.is_main_process:
        # Without an executor it lists or draws jobs and runs none.
        runs_jobs = workflow.executor_plugin is not None and not workflow.dryrun
        page = Path(experiment.results, layout.REPORT["page"])
        server = None
        if runs_jobs and workflow.local_exec and not page.is_file():
            # A first run has much to do: what its jobs import is imported while they are planned.
            server = start_server(_STAYING, (*FACTS, *ENGINE))
        with exit_on_bad_input():
            if checks_first:
                _check(experiment, has_server=server is not None)
            for line in check_calls(experiment):
                print(f"exparity: {visible(line)}", file=sys.stderr)
            if runs_jobs:
                _begin(workflow, experiment)
            mark_outdated(experiment, workflow.dag.forcefiles)
        # `mtime` holds the times that Snakemake knows already and does not read again.
        from snakemake.io import Mtime

        times = result_times(experiment)
        workflow.iocache.mtime.update((path, Mtime(local=time)) for path, time in times.items())


def _check(experiment: Experiment, *, has_server: bool) -> None:
    if has_server and "torch" not in sys.modules:
        check_before_jobs(experiment, _is_buildable_in_a_job)
    else:
        check_before_jobs(experiment)


def _is_buildable_in_a_job(models: Models) -> bool:
    """Return whether a job, which the server forks, builds models: this process needs no torch."""
    script = shutil.which("exparity", path=search_path())
    if script is None:
        return False
    try:
        done = subprocess.run(
            [script, "check-models", "--options", json.dumps({"models": models})],
            env={**os.environ, **dict.fromkeys(THREAD_VARIABLES, "1")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except OSError:  # Linux takes 128 kB in one argument
        return False
    return done.returncode == 0


def _begin(workflow: Any, experiment: Experiment) -> None:
    lock_folders(experiment.results)
    watch_trainings(workflow)
    if workflow.executor_plugin.name == "slurm":
        check_ends_are_told(workflow.executor_settings)
        from exparity.runs.submissions import speaking

        workflow.executor_plugin.executor = speaking(workflow.executor_plugin.executor)
    cancel_leftovers()
    experiment.write_grid()
    # The plug-in for SLURM keeps groups to itself: a submission would start a Snakemake, and torch,
    # for each of its jobs.
    workflow.executor_plugin.common_settings.pass_group_args = True
    # With Snakemake's own limit, of 100 jobs a second, every round of scheduling ends in another
    # one a second later, and every job that ends begins such a chain: after some hundred jobs the
    # rounds take a whole core. Nothing here starts jobs that fast. A limit that was asked for is
    # kept.
    settings = workflow.scheduling_settings
    limit = settings.max_jobs_per_timespan
    if limit and (limit.max_jobs, limit.timespan) == (100, 1):
        settings.max_jobs_per_timespan = None


class _Unfinished(set[str]):
    """Files to make though they are there, without those that an earlier attempt has finished."""

    def __init__(self, experiment: Experiment) -> None:
        super().__init__()
        self._experiment = experiment

    def update(self, *files: Iterable[str]) -> None:
        """Add the outputs of a job, unless it is finished."""
        output = {str(path) for some in files for path in some}
        if up_to_date(self._experiment, output) != output:
            super().update(output)


def before_jobs(workflow: Any, experiment: Experiment) -> None:
    """Start a server whose workers do the jobs that this process starts."""
    targets = workflow.dag_settings.target_jobs
    if workflow.remote_exec and len(targets) > 1:  # a submission of jobs one after the other
        jobs = [(target.rulename, Ids(target.wildcards_dict)) for target in targets]
    elif workflow.is_main_process and not workflow.dryrun and workflow.local_exec:
        jobs = [(job.rule.name, Ids(job.wildcards_dict)) for job in workflow.dag.needrun_jobs()]
    else:
        return
    several = sum(runs_model(experiment, *job) for job in jobs) > 1
    # A submission has a training's jobs, one after the other, and a GPU that is theirs alone.
    job = "exparity.cli:run_and_stay" if workflow.remote_exec else _STAYING
    start_server(job, (*FACTS, *(ENGINE if several else ())))
