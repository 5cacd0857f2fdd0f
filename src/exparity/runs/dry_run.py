"""What a run would submit to a queue, as Snakemake's dry run has it.

``python -m exparity.runs.dry_run FLAGS`` prints the submissions as JSON. It is a process of its
own, since Snakemake takes over the signals and the logging of the one that it runs in.
"""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from snakemake_interface_executor_plugins.jobs import (
    GroupJobExecutorInterface,
    JobExecutorInterface,
)

from exparity.core.errors import ExparityError
from exparity.core.escaping import say
from exparity.core.formats import aligned
from exparity.core.grouping import grouped


@dataclass(frozen=True)
class Submission:
    """A job, or a group of jobs, that is submitted at once.

    Attributes:
        kind: its rule, or the first part of its group's name.
        jobs: number of its jobs.
        minutes: time that it asks for, at its first attempt.
        partition: partition that it asks for; empty for the cluster's own choice.
        gres: GPUs that it asks for; empty for none.
    """

    kind: str
    jobs: int
    minutes: int
    partition: str
    gres: str


def planned_submissions(flags: Sequence[str]) -> list[Submission]:
    """Return what Snakemake would submit with these flags; nothing is submitted.

    Raises:
        ExparityError: the dry run fails; what it says is part of the message.
    """
    # Without the working folder on the path, which may hold modules of any name.
    command = [sys.executable, "-P", "-m", __name__, *flags]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise ExparityError(f"the dry run failed: {run.stderr.strip()}")
    return [Submission(**fields) for fields in json.loads(run.stdout)]


def submissions_table(submissions: Sequence[Submission]) -> str:
    """Return a line for each kind of submission, and one for all."""
    by_kind = grouped(submissions, lambda submission: submission.kind)
    rows = [_cells(kind, alike) for kind, alike in by_kind.items()]
    head = ["submissions", "number", "jobs", "hours asked for", "longest", "partition", "GPUs"]
    return aligned([head, *rows, _cells("total", submissions)])


def _cells(kind: str, submissions: Sequence[Submission]) -> list[str]:
    minutes = [submission.minutes for submission in submissions]
    jobs = sum(submission.jobs for submission in submissions)
    partitions = {submission.partition for submission in submissions}
    gres = {submission.gres for submission in submissions}
    return [
        kind,
        f"{len(submissions):,}",
        f"{jobs:,}",
        f"{sum(minutes) / 60:,.1f}",
        f"{max(minutes, default=0) / 60:,.1f}",
        " or ".join(sorted(partitions - {""})) or "–",
        " or ".join(sorted(gres - {""})) or "–",
    ]


def _submission(job: JobExecutorInterface) -> Submission:
    """Return what is known of a job of Snakemake, or of a group of them."""
    if isinstance(job, GroupJobExecutorInterface):
        kind, _, rest = job.groupid.partition(".")
        # The name of a group behind a long job ends in what the job makes.
        if rest.count(".") > 2:
            kind = f"{kind}, behind a long job"
    else:
        kind = job.name
    return Submission(
        kind=kind,
        jobs=len(job.jobs) if isinstance(job, GroupJobExecutorInterface) else 1,
        minutes=int(job.resources.runtime),
        partition=str(job.resources.get("slurm_partition", "")),
        gres=str(job.resources.get("gres", "")),
    )


def _main() -> None:
    """Print the submissions of a dry run; what Snakemake says is for a failure alone."""
    from snakemake.cli import main
    from snakemake.executors.dryrun import Executor

    from exparity.runs import begin

    # Who asks has checked models and data, for which torch is imported.
    begin.checks_first = False
    planned: list[JobExecutorInterface] = []
    run_job = Executor.run_job

    def note(executor: Executor, job: JobExecutorInterface) -> None:
        planned.append(job)
        run_job(executor, job)

    Executor.run_job = note
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        try:
            main(["--dry-run", *sys.argv[1:]])
        except SystemExit as end:
            if end.code:
                sys.exit(output.getvalue())
    submitted = [job for job in planned if job.is_group() or job.name != "all"]
    say(json.dumps([asdict(_submission(job)) for job in submitted]))


if __name__ == "__main__":
    _main()
