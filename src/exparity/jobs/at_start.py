"""What a run begins with, also where another workflow imports this one.

When a run starts, Snakemake calls one function, that of the main file, which may call those of its
modules and may forget to. A lock that can be forgotten protects nothing.

A killed run may have left jobs in a SLURM queue. Snakemake does not know them and submits their
cells anew. They are ended before Snakemake looks at the files, since they may finish some until
then: what they have saved is taken over, and the plan counts what they have finished.
"""

from __future__ import annotations

import getpass
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from exparity.core.errors import ExparityError

_PATIENCE = 90  # seconds; SLURM kills what has not ended 30 after the signal, by default


def at_start(workflow: Any, name: str, begin: Callable[[], object]) -> None:
    """Have Snakemake call a module's function before that of the main file."""
    if not hasattr(workflow, "_onstart"):
        raise ExparityError(
            "this version of Snakemake calls no function of a module when a run starts, so that "
            "nothing would keep a second run out; run exparity from its own folder"
        )
    if not hasattr(workflow, "exparity_starts"):
        workflow.exparity_starts = {}
        _go_first(workflow)
    workflow.exparity_starts[name] = begin


def before_plan(workflow: Any, name: str, begin: Callable[[Any], object]) -> None:
    """Have Snakemake call a function before it looks at files, and plans what to run.

    A Snakemake that waits in vain for its inputs says so and ends with 0, so that SLURM calls its
    submission completed, and the run waits a minute for each of its outputs. Here it ends with 1.
    """
    if not hasattr(workflow, "exparity_plans"):
        workflow.exparity_plans = {}
        execute = workflow.execute

        def prepared(executor_plugin: Any, **settings: Any) -> None:
            for begin in workflow.exparity_plans.values():
                begin(executor_plugin.common_settings)
            if execute(executor_plugin=executor_plugin, **settings) is False:
                raise SystemExit(1)

        workflow.execute = prepared
    workflow.exparity_plans[name] = begin


def _go_first(workflow: Any) -> None:
    """Put the modules' functions before what the main file has set, or is going to set."""
    register = workflow.onstart

    def after_modules(own: Callable[[Any], object]) -> Callable[[Any], None]:
        def start(log: Any) -> None:
            for begin in workflow.exparity_starts.values():
                begin()
            own(log)

        return start

    def onstart(own: Callable[[Any], object]) -> None:
        register(after_modules(own) if workflow.modifier.is_main_snakefile() else own)

    workflow._onstart = after_modules(workflow._onstart)
    workflow.onstart = onstart


def end_on_term(scheduler: Any) -> None:
    """Have SIGTERM end a run on a cluster as Ctrl-C does: its jobs are cancelled, and it ends.

    Snakemake's own answer takes a lock that the same thread holds while it waits for files, and
    then waits for itself for ever; else it waits for all jobs in the queue, which takes hours.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # This thread sleeps up to three minutes between two looks at the queue, and has no more to say.
    watcher = scheduler._executor.wait_thread
    watcher.join = partial(watcher.join, timeout=1)


def cancel_leftovers(folder: Path | None = None) -> None:
    """Cancel the folder's jobs, and wait until they are gone; its lock must be held."""
    if shutil.which("squeue") is None:
        return
    left = _jobs_of(folder or Path.cwd())
    if not left:
        return
    subprocess.run(["scancel", *left], check=False)
    deadline = time.monotonic() + _PATIENCE
    while _jobs_of(folder or Path.cwd()) and time.monotonic() < deadline:
        time.sleep(1)
    jobs = "1 job" if len(left) == 1 else f"{len(left)} jobs"
    print(f"exparity: cancelled {jobs} that an earlier run had left in the queue", file=sys.stderr)


def _jobs_of(folder: Path) -> list[str]:
    """Ids of the jobs that Snakemake submitted from a folder; it puts the rule in the comment."""
    command = ["squeue", "--noheader", "--user", getpass.getuser(), "--format=%A|%Z|%k"]
    queue = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    jobs = (line.split("|", 2) for line in queue.splitlines())
    return [id for id, where, rule in jobs if where == str(folder) and rule.startswith("rule_")]
