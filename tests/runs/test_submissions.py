"""What is said of a submission: the scheduler's own line, and what to change."""

import asyncio
from types import SimpleNamespace

import pytest
from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor

from exparity.runs import submissions
from exparity.runs.submissions import REMEDIES, advice_for, scheduler_line, speaking

FAILED = "SLURM sbatch failed. The error message was '{}'.\n    sbatch call:\n        sbatch -p x\n"


class Job(SimpleNamespace):
    """Of Snakemake's group of jobs what an executor of a submission needs."""

    __hash__ = object.__hash__

    def is_group(self):
        return True


class Executor(RemoteExecutor):
    """A plug-in whose scheduler answers with one text after the other, then takes the job."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.taken = []
        self.workflow = SimpleNamespace(scheduler=SimpleNamespace(error_callback=self.taken.append))
        self.__post_init__()

    def run_job(self, job):
        if not self.answers:
            self.taken.append("taken")
        elif isinstance(answer := self.answers.pop(0), Exception):
            raise answer
        else:
            self.report_job_error(SubmittedJobInfo(job), msg=FAILED.format(answer))

    async def check_active_jobs(self, active_jobs):
        for job in active_jobs:
            yield job

    def cancel_jobs(self, active_jobs):
        pass


@pytest.fixture
def said(monkeypatch):
    """What is printed."""
    lines = []
    monkeypatch.setattr(submissions, "logger", SimpleNamespace(error=lines.append))
    return lines


@pytest.fixture
def job():
    return Job(name="training", attempt=1, restart_times=2)


@pytest.mark.parametrize(
    ("answer", "line", "advice"),
    [
        (
            "sbatch: error: invalid partition specified: x\nsbatch: error: Batch job failed",
            "sbatch: error: invalid partition specified: x; sbatch: error: Batch job failed",
            "cpu_partition",
        ),
        ("sbatch: error: Invalid qos specification", None, "set qos"),
        ("sbatch: error: Requested time limit is invalid", None, "training_minutes"),
        ("sbatch: error: Job violates accounting/QOS policy (job submit limit)", None, "`jobs`"),
    ],
)
def test_a_line_of_the_scheduler_and_its_remedy(answer, line, advice):
    assert scheduler_line(FAILED.format(answer)) == (line or answer)
    assert advice in advice_for(answer, REMEDIES)


def test_a_submission_that_finds_no_room_is_sent_until_it_does(said, job):
    full = "sbatch: error: Batch job submission failed: Resource temporarily unavailable"
    executor = speaking(Executor)(full, full)
    executor.pause = 0
    executor.run_job(job)
    assert executor.taken == ["taken"]
    (line,) = said
    assert line.startswith("exparity: the scheduler takes no submissions now: sbatch: error: Batch")


def test_an_error_of_the_plugin_ends_the_submission(said, job):
    executor = speaking(Executor)(ValueError("no account"))
    executor.run_job(job)
    assert executor.taken == [job]
    assert job.attempt > job.restart_times
    (line,) = said
    assert "no account; set slurm_account" in line


def test_what_submissions_wait_for_is_said_once(said, job, monkeypatch):
    monkeypatch.setattr(submissions, "ask", lambda *command: "1|PartitionTimeLimit\n2|None\n")
    executor = speaking(Executor)()

    async def look():
        active = [SubmittedJobInfo(job, external_jobid=number) for number in "12"]
        return [job_info async for job_info in executor.check_active_jobs(active)]

    assert len(asyncio.run(look())) == 2
    asyncio.run(look())
    (line,) = said
    assert line.startswith("exparity: 1 submission waits in the queue: PartitionTimeLimit; ")
