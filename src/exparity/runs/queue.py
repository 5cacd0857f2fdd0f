"""Answers of SLURM's commands; each has a minute."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import Any

from exparity.jobs.locks import give_up

_PATIENCE = 60  # seconds


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
