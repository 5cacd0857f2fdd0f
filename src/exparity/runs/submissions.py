"""Submissions of a run on a cluster: why one is refused, and what one waits for in the queue.

Snakemake drops the message of a submission with several jobs and lists these jobs in its place, at
each attempt. The executor of a run is a subclass of the plug-in's that says the scheduler's own
line once. It overrides nothing but methods of Snakemake's interface for executors.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import AsyncGenerator, Iterable
from typing import Any, NamedTuple

from snakemake.logging import logger
from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
from snakemake_interface_executor_plugins.jobs import JobExecutorInterface

from exparity.runs.queue import ask

_PROFILE = "of the profile (profiles/slurm/config.yaml)"


class Remedy(NamedTuple):
    """What to do about a refusal, or about a reason to wait in the queue.

    Attributes:
        pattern: regular expression of what the scheduler says; upper and lower case are the same.
        advice: what the user can change.
    """

    pattern: str
    advice: str


BUSY = Remedy(
    r"temporarily un|MaxSubmit|unable to contact|timed out|connect|transmi",
    f"submissions wait and are sent again; `jobs` {_PROFILE} limits how many are in the queue",
)
"""What ends by itself: a submission is sent again until it is taken."""
REMEDIES = (
    Remedy(
        r"violates .*policy",
        f"the account or qos limits jobs, their size or their time: lower `jobs`, mem_mb, "
        f"training_minutes or runtime {_PROFILE}",
    ),
    Remedy(
        r"partition (specified|name)",
        f"set cpu_partition and gpu_partition {_PROFILE}; `sinfo -o '%P %G %l'` lists partitions",
    ),
    Remedy(
        r"memory (spec|required)",
        f"lower mem_mb {_PROFILE}; `sinfo -o '%P %m'` lists the memory of nodes",
    ),
    Remedy(
        r"account",
        f"set slurm_account {_PROFILE} to an account that may use the partition, or remove it "
        "where the cluster has no accounts",
    ),
    Remedy(r"qos", f"set qos {_PROFILE}; `sacctmgr show qos` lists what there is"),
    Remedy(
        r"node configuration|gres|feature|constraint",
        f"set gres, constraint or mem_mb {_PROFILE}; `sinfo -o '%P %G %f %m'` lists nodes",
    ),
    Remedy(
        r"time ?limit",
        f"lower training_minutes, or set runtime of the rule {_PROFILE}; "
        "`sinfo -o '%P %l'` lists time limits",
    ),
    Remedy(
        r"argument list too long|pathname|script.*(long|size)",
        f"make submissions smaller: docs/cluster.md, Groups, names the lines {_PROFILE}",
    ),
)
"""What to change after a refusal. The first that fits is the one that is shown."""
WAITS = (
    Remedy(
        r"PartitionTimeLimit|PartitionConfig",
        f"no node gives so much time or memory: lower training_minutes, or set runtime "
        f"of the rule {_PROFILE}",
    ),
    Remedy(r"JobHeld", "`scontrol release ID` frees a job that is held"),
    Remedy(r"account", f"slurm_account {_PROFILE} must be one that may use the partition"),
    Remedy(r"^(Priority|Resources|BeginTime)$", ""),
    Remedy(r"", "docs/cluster.md, Troubleshooting; if it lasts, ask who runs the cluster"),
)
"""Reasons for which a job is in the queue and does not run."""


def advice_for(text: str, remedies: Iterable[Remedy]) -> str | None:
    """Return the advice of the first remedy that fits a text; None where none does."""
    for remedy in remedies:
        if re.search(remedy.pattern, text, re.IGNORECASE):
            return remedy.advice
    return None


def scheduler_line(message: str) -> str:
    """Return what a scheduler has said, on one line, without the command that it was given."""
    quoted = re.search(r"error message was '?(.*?)(?:'\.?\s*\n|'?\Z)", message, re.DOTALL)
    text = quoted[1] if quoted else message
    lines = (line.strip() for line in text.splitlines())
    return "; ".join(line for line in lines if line and "sleeping and retrying" not in line)


class _Speaking(RemoteExecutor):  # type: ignore[misc]
    """Says why a submission is refused, has failed, or waits."""

    pause = 30.0
    """Seconds until a submission is sent again that the scheduler could not take."""

    def __post_init__(self) -> None:
        self._heard: set[str] = set()
        self._sent_again: set[JobExecutorInterface] = set()
        super().__post_init__()

    def run_job(self, job: JobExecutorInterface) -> None:
        """Submit a job; where the scheduler is busy, again and again."""
        while True:
            try:
                super().run_job(job)
            # An error of the plug-in itself would end the thread in silence, and the run would wait
            # for ever. It may come from the plug-in's own handler, which expects a single rule.
            except Exception as error:
                self.report_job_error(SubmittedJobInfo(job), msg=str(error.__context__ or error))
            if job not in self._sent_again:
                return
            time.sleep(self.pause)
            self._sent_again.discard(job)

    def report_job_error(
        self, job_info: SubmittedJobInfo, msg: str | None = None, **kwargs: Any
    ) -> None:
        """Report a job to Snakemake, unless it is to be sent again."""
        if job_info.external_jobid is None and msg:
            line = scheduler_line(msg)
            if advice := advice_for(line, [BUSY]):
                self._say(f"the scheduler takes no submissions now: {line}; {advice}")
                self._sent_again.add(job_info.job)
                return
            # What is refused would be again: a further attempt asks for more memory and time.
            job_info.job.attempt = job_info.job.restart_times + 1
        super().report_job_error(job_info, msg, **kwargs)

    def print_job_error(
        self, job_info: SubmittedJobInfo, msg: str | None = None, **kwargs: Any
    ) -> None:
        """Print the scheduler's line of a refusal, once; of other errors the line and the jobs."""
        job = job_info.job
        if job_info.external_jobid is None and msg:
            line = scheduler_line(msg)
            advice = advice_for(line, REMEDIES)
            self._say(
                f"the scheduler refuses submissions, {job.name} the first: {line}"
                f"{'; ' + advice if advice else ''}",
                once=line,
            )
            return
        if job.is_group() and msg:
            logger.error(f"exparity: submission {job.name}: {msg}")
        super().print_job_error(job_info, msg, **kwargs)

    async def check_active_jobs(
        self, active_jobs: list[SubmittedJobInfo]
    ) -> AsyncGenerator[SubmittedJobInfo, None]:
        """Yield the jobs that have not ended, and say what those in the queue wait for."""
        active: list[str] = []
        async for job_info in super().check_active_jobs(active_jobs):
            active.append(str(job_info.external_jobid))
            yield job_info
        if len(active) == len(active_jobs):
            self._say_what_they_wait_for(active)

    def _say_what_they_wait_for(self, active: list[str]) -> None:
        command = ("squeue", "--noheader", "--states=PENDING", "--format=%A|%r")
        queue = ask(*command, f"--jobs={','.join(active)}") if active else None
        rows = (line.partition("|") for line in (queue or "").splitlines())
        reasons = Counter(reason.strip() for _, _, reason in rows)
        reasons.pop("None", None)  # it has just come
        for reason, count in reasons.items():
            advice = advice_for(reason, WAITS)
            jobs = "1 submission waits" if count == 1 else f"{count} submissions wait"
            line = f"{jobs} in the queue: {reason}{'; ' + advice if advice else ''}"
            self._say(line, once=f"queue: {reason}")

    def _say(self, line: str, once: str = "") -> None:
        """Print a line, unless it, or what is said once, was printed before."""
        key = once or line
        if key not in self._heard:
            self._heard.add(key)
            logger.error(f"exparity: {line}")


def speaking(executor: type[RemoteExecutor]) -> type[RemoteExecutor]:
    """Return a subclass of a plug-in's executor that says what the scheduler says."""
    is_speaking = issubclass(executor, _Speaking)  # another module of the workflow has seen to it
    return executor if is_speaking else type("Executor", (_Speaking, executor), {})
