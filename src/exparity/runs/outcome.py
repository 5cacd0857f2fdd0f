"""Last words of a run: its report, or why it ended."""

from __future__ import annotations

import logging
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from exparity.artefacts.lineage import failed_parts
from exparity.core.errors import IncompleteReport
from exparity.runs.queue import STOPPED

_LINES = 5  # the message of an error is the last line of a log


def stop_in_one_line() -> None:
    """Have Ctrl-C end a run with one line: what its jobs were told is no error of theirs."""
    signals: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        if not signals:
            print(STOPPED, file=sys.stderr)
        signals.append(number)
        signal.default_int_handler(number, frame)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        from snakemake.logging import logger

        signal.signal(signal.SIGINT, stop)
        logger.addFilter(lambda record: not signals or record.levelno < logging.ERROR)


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
