"""Last words of a run: its report, or why it ended."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from exparity.artefacts.lineage import failed_parts
from exparity.core.errors import IncompleteReport

_LINES = 5  # the message of an error is the last line of a log


def name_report(workflow: Any, page: str) -> None:
    """Name the report, if this run was to bring it up to date; end with 3 if it lacks a part.

    Its job succeeds all the same: Snakemake would remove the page of a job that fails.
    """
    if not any(page in job.output for job in workflow.dag.jobs):
        return
    print(f"exparity: the report is {page}", file=sys.stderr)
    if failed := failed_parts(Path(page)):
        print(
            f"exparity: it lacks parts that failed: {failed}; it says why in their place, and the "
            "next run makes it again",
            file=sys.stderr,
        )
        raise SystemExit(IncompleteReport.exit_code)


def explain_failures(workflow: Any) -> None:
    """Print the last lines of each failed job's log, where Snakemake was told not to."""
    if "RULES" not in {quiet.name for quiet in workflow.output_settings.quiet or ()}:
        return
    for failed in workflow.scheduler.failed:
        for job in failed.jobs if failed.is_group() else [failed]:
            for log in map(Path, job.log):
                if log.is_file():
                    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
                    last = "\n".join(f"    {line}" for line in lines[-_LINES:])
                    print(f"exparity: {job.rule.name} failed, {log}:\n{last}", file=sys.stderr)
