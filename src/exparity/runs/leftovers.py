"""Jobs in a SLURM queue: those of a killed run, and those of a run that is told to end.

Snakemake does not know jobs of a killed run and submits their cells anew. They are ended before
Snakemake looks at the files, since they may finish some until then: what they have saved is taken
over, and the plan counts what they have finished.
"""

from __future__ import annotations

import getpass
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from exparity.runs.queue import ask

STOPPED = "exparity: stopped; finished jobs and parts of jobs stay, and the same command goes on"
_PATIENCE = 90  # seconds; SLURM kills what has not ended 30 after the signal, by default


def cancel_leftovers() -> None:
    """Cancel this folder's jobs, and wait until they are gone; its lock must be held."""
    left = _cancel()
    if not left:
        return
    deadline = time.monotonic() + _PATIENCE
    while _submitted() and time.monotonic() < deadline:
        time.sleep(1)
    jobs = "1 job" if len(left) == 1 else f"{len(left)} jobs"
    print(f"exparity: cancelled {jobs} that an earlier run had left in the queue", file=sys.stderr)


def end_on_signals() -> None:
    """Have SIGTERM and Ctrl-C end a run on a cluster: its jobs are cancelled, and it ends.

    Snakemake would wait for all jobs in the queue, which takes hours, or up to three minutes for
    its next look at the queue. As after a kill, the next run goes on with the files as they are.
    """

    def end(number: int, frame: FrameType | None) -> None:
        print(STOPPED, file=sys.stderr, flush=True)
        _cancel()
        os._exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGINT):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, end)


def _cancel() -> list[str]:
    """Cancel this folder's jobs, and return their ids."""
    submitted = _submitted()
    if submitted:
        ask("scancel", *submitted)
    return submitted


def _submitted() -> list[str]:
    """Return the jobs that Snakemake submitted from here; it puts the rule in the comment."""
    command = ["squeue", "--noheader", "--user", getpass.getuser(), "--format=%A|%Z|%k"]
    queue = ask(*command) or ""
    jobs = (line.split("|", 2) for line in queue.splitlines())
    here = str(Path.cwd())
    return [id for id, where, rule in jobs if where == here and rule.startswith("rule_")]
