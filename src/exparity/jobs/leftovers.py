"""Jobs of a killed run that are still in a SLURM queue.

Snakemake does not know them and submits their cells anew. A job that ends before its successor
starts would be computed twice, because the successor begins by deleting the output. So they are
ended first; they save what they have, and their successors go on with it.
"""

from __future__ import annotations

import getpass
import shutil
import subprocess
import sys
import time
from pathlib import Path

_PATIENCE = 90  # seconds; SLURM kills what has not ended 30 after the signal, by default


def cancel_leftovers(folder: Path | None = None) -> None:
    """Cancel the folder's jobs, and wait until they are gone; call it with the folder's lock held.

    Args:
        folder: where Snakemake ran; the current folder if None.
    """
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
    rows = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = (row.split("|", 2) for row in rows.splitlines())
    return [id for id, where, rule in found if where == str(folder) and rule.startswith("rule_")]
