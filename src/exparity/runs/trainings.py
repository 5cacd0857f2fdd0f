"""What a run says of a classifier whose explanations can count in no verdict, once it is trained.

A log is read by those who look for it, and the jobs on such a classifier may take hours. The events
of jobs are part of Snakemake's interface for loggers.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent

from exparity.runs import CAUTION


class _Watch(logging.Handler):
    """Says a line of each training that has finished, if there is one to say."""

    def __init__(self, workflow: Any) -> None:
        super().__init__()
        self._workflow = workflow
        self._predictions: dict[int, Path] | None = None  # by the number of the job

    def emit(self, record: logging.LogRecord) -> None:
        """Look at the predictions of a training whose job has finished."""
        if getattr(record, "event", None) != LogEvent.JOB_FINISHED:
            return
        try:
            if self._predictions is None:  # jobs have numbers once they are planned
                self._predictions = _predictions_of(self._workflow.dag.jobs)
            path = self._predictions.get(getattr(record, "job_id", -1))
            line = caution_of(path) if path else None
        except Exception:  # as handlers do: what is said of a job must not end the run
            self.handleError(record)
            return
        if line:
            logger.warning(f"{CAUTION}{line}")


def _predictions_of(jobs: Any) -> dict[int, Path]:
    trainings = (job for job in jobs if job.rule.name == "finetune")
    return {job.jobid: Path(job.output.predictions) for job in trainings}


def caution_of(predictions: Path) -> str | None:
    """Return why the explanations of a classifier count in no verdict; None if they may count."""
    import pyarrow.parquet as pq

    from exparity.artefacts.files import facts_of
    from exparity.stats.model_bias import is_collapsed
    from exparity.stats.untested import main_reason

    table = pq.read_table(predictions, columns=["predicted"])
    facts = facts_of(table.schema.metadata)
    flags = set(facts.flags)
    if is_collapsed(table.column("predicted").to_numpy()):
        flags.add("collapsed")
    if (reason := main_reason(flags)) is None:
        return None
    ids = facts.ids
    return (
        f"{ids.model} on {ids.dataset}, seed {ids.seed}: {reason.why}, so that its "
        f"explanations count in no verdict; the run goes on, and Ctrl-C ends it; {reason.change}"
    )


def watch_trainings(workflow: Any) -> None:
    """Have the run say what its trainings end with."""
    if not any(isinstance(handler, _Watch) for handler in logger.handlers):
        logger.addHandler(_Watch(workflow))
