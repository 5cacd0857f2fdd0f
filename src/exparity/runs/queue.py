"""Jobs in a SLURM queue: those of a killed run, and those of a run that is told to end.

Snakemake does not know jobs of a killed run and submits their cells anew. They are ended before
Snakemake looks at the files, since they may finish some until then: what they have saved is taken
over, and the plan counts what they have finished.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from exparity.jobs.locks import give_up

_UNTIL_GONE = 90  # seconds; SLURM kills what has not ended 30 after the signal, by default
_PATIENCE = 60  # seconds, for an answer of one of SLURM's commands


def ask(*command: str) -> str | None:
    """Return what one of SLURM's commands prints; None where it fails, or does not answer."""
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return run.stdout if run.returncode == 0 else None


def check_ends_are_told(settings: Any) -> None:
    """Refuse a SLURM that forgets jobs before Snakemake looks: a run would wait for ever.

    Snakemake's plug-in for SLURM asks ``sacct`` where its settings say so, or where jobs stay in
    ``squeue`` for less than three of its first waits.
    """
    if ask("sacct", "--allocations", "--noheader", "--starttime=now") is not None:
        return
    least = 3 * settings.init_seconds_before_status_checks
    age = re.search(
        r"^MinJobAge\s*=\s*(\d+)", ask("scontrol", "show", "config") or "", re.MULTILINE
    )
    if age is None or int(age[1]) < least:
        stay = f"MinJobAge is {age[1]} s" if age else "`scontrol show config` names no MinJobAge"
        give_up(
            f"this SLURM does not tell how jobs end: sacct gives no answer, and {stay}; have "
            f"MinJobAge set to {max(300, least)} in slurm.conf, or accounting switched on"
        )
    if settings.status_command == "sacct" and shutil.which("sacct"):
        give_up("sacct gives no answer here; set slurm-status-command: squeue")


def cancel_leftovers() -> None:
    """Cancel this folder's jobs, and wait until they are gone; its lock must be held."""
    left = cancel()
    if not left:
        return
    deadline = time.monotonic() + _UNTIL_GONE
    while _submitted() and time.monotonic() < deadline:
        time.sleep(1)
    jobs = "1 job" if len(left) == 1 else f"{len(left)} jobs"
    print(f"exparity: cancelled {jobs} that an earlier run had left in the queue", file=sys.stderr)


def cancel() -> list[str]:
    """Cancel this folder's jobs, and return their ids."""
    submitted = _submitted()
    if submitted:
        ask("scancel", *submitted)
    return submitted


def _submitted() -> list[str]:
    """Return the jobs that Snakemake submitted from here; it puts the rule in the comment."""
    command = ["squeue", "--noheader", "--user", str(os.getuid()), "--format=%A|%Z|%k"]
    queue = ask(*command) or ""
    jobs = (line.split("|", 2) for line in queue.splitlines())
    here = str(Path.cwd())
    return [number for number, where, rule in jobs if where == here and rule.startswith("rule_")]
