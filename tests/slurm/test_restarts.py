"""Submissions that end while some of their jobs are finished: these are not made again.

Of a submission of four explanations two are finished, and the third job waits before it puts its
result into place. The runs mostly wait, so they share the cluster.

All of it needs ``--exhaustive``. In every run, tests/slurm/test_run.py has a killed run whose
submission ends before the next run, tests/slurm/test_long_jobs.py submissions that are ended and go
on, tests/workflow/test_module.py leftovers that the next run cancels, and tests/runs/test_begin.py
what a submission makes that runs again.
"""

import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Self

import pytest
from slurm.conftest import SCORES, ClusterCheckout, explanations, kill, spoil_notes
from workflow.conftest import Checkout, copy_run
from workflow.test_kills import tables

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.workflow,
    pytest.mark.exhaustive,
    pytest.mark.timeout(1800),
]
METHODS = {f"gradient_{letter}": {"use": "gradient"} for letter in "abcd"}
FINISHED = 2
MADE = ("explanations", "scores")
"""What the submissions make."""


@pytest.fixture(scope="module")
def undisturbed(baseline, tmp_path_factory) -> Checkout:
    """A finished local run of four methods and a metric, with the training of the baseline."""
    made = Checkout(copy_run(baseline, tmp_path_factory.mktemp("undisturbed") / "checkout", *MADE))
    none = {"random": {"draws": 0}}
    made.configure(methods=METHODS, metrics={"gini": {}}, controls=none)
    made.snakemake(*SCORES)
    return made


class Restart:
    """A run whose submission has finished two of its four jobs, and what becomes of it."""

    def __init__(self, checkout: ClusterCheckout) -> None:
        self.checkout = checkout
        self.run = checkout.start(*SCORES)
        checkout.held.wait(self.run)
        self.finished = explanations(checkout)
        (self.job,) = checkout.cluster.running("training", checkout.root)
        self.first_said = ""

    def wait_for_end_of_job(self) -> None:
        running = self.checkout.cluster.running
        self.checkout.wait_until(
            lambda: self.job not in running("training", self.checkout.root), "the job ends"
        )
        self.checkout.held.release()

    def start_again(self) -> None:
        self.first_said += self.checkout.said
        (self.checkout.root / "run.log").unlink()
        self.run = self.checkout.start(*SCORES)

    def finish(self) -> Self:
        self.exit_code = self.run.wait(timeout=900)
        return self


def main_killed_and_next_terminated(restart: Restart) -> None:
    """The first submission lives on until the next run cancels it; that one cancels its own."""
    checkout = restart.checkout
    kill(restart.run)
    (checkout.held.folder / "waits").unlink()
    first = restart.job
    restart.start_again()
    checkout.held.wait(restart.run)
    (restart.job,) = checkout.cluster.running("training", checkout.root)
    assert restart.job != first
    os.kill(restart.run.pid, signal.SIGTERM)
    restart.wait_for_end_of_job()
    assert restart.run.wait(timeout=60) == 128 + signal.SIGTERM
    restart.start_again()


def cancelled(restart: Restart) -> None:
    restart.checkout.cluster.command("scancel", restart.job.id)
    restart.wait_for_end_of_job()


def killed_at_once(restart: Restart) -> None:
    """No process of the submission can do anything more."""
    restart.checkout.cluster.command("scancel", "--full", "--signal=KILL", restart.job.id)
    restart.wait_for_end_of_job()


def requeued(restart: Restart) -> None:
    """As after a preemption: SLURM starts the same submission once more."""
    restart.checkout.cluster.command("scontrol", "requeue", restart.job.id)
    restart.wait_for_end_of_job()


SCENARIOS = (main_killed_and_next_terminated, cancelled, killed_at_once, requeued)


@pytest.fixture(scope="module")
def restarts(undisturbed, cluster, tmp_path_factory):
    """Each scenario's restart by its name; they run side by side."""

    def disturb(scenario) -> Restart:
        target = tmp_path_factory.mktemp(scenario.__name__) / "checkout"
        root = copy_run(undisturbed, target, *MADE)
        spoil_notes(root)
        config = undisturbed.config_path.relative_to(undisturbed.root)
        restart = Restart(
            ClusterCheckout(root, cluster, config, held_at=".parquet", held_after=FINISHED)
        )
        scenario(restart)
        return restart.finish()

    with ThreadPoolExecutor(len(SCENARIOS)) as pool:
        begun = {scenario.__name__: pool.submit(disturb, scenario) for scenario in SCENARIOS}
    return {name: future.result() for name, future in begun.items()}


@pytest.fixture(params=[scenario.__name__ for scenario in SCENARIOS])
def restart(request, restarts) -> Restart:
    return restarts[request.param]


def test_the_run_ends_with_the_undisturbed_tables(restart, undisturbed):
    checkout = restart.checkout
    assert restart.exit_code == 0, checkout.said
    assert tables(checkout, "scores") == tables(undisturbed, "scores")
    assert checkout.plan(*SCORES) == {}


def test_what_a_job_has_finished_is_not_made_again(restart):
    assert len(restart.finished) >= FINISHED
    assert restart.finished.items() <= explanations(restart.checkout).items()


def test_no_run_waits_for_files_that_nobody_makes(restart):
    said = restart.first_said + restart.checkout.said
    assert "Waiting at most" not in said
    assert "some output files are missing" not in said


def test_leftovers_end_before_the_run_looks_at_files_and_a_terminated_run_leaves_none(restarts):
    """The job of the terminated run could not end otherwise: it was released after that."""
    said = restarts["main_killed_and_next_terminated"].first_said
    assert said.count("cancelled 1 job that an earlier run had left in the queue") == 1
    planned = map(int, re.findall(r"^explain +(\d+)", said, re.MULTILINE))
    assert list(planned) == [len(METHODS), len(METHODS) - FINISHED]
    assert said.count("exparity: stopped; finished jobs and parts of jobs stay") == 1


def test_a_job_that_fails_ends_alone(undisturbed, cluster, tmp_path):
    """The others of the submission go on; tests/runs/test_begin.py has what makes them."""
    root = copy_run(undisturbed, tmp_path / "checkout", *MADE)
    config = undisturbed.config_path.relative_to(undisturbed.root)
    checkout = ClusterCheckout(root, cluster, config)
    (checkout.root / "bad.parquet").write_text("no explanations")
    methods = {**METHODS, "gradient_b": {"use": "imported", "path": "bad.parquet"}}
    checkout.configure(methods=methods, metrics={"gini": {}}, controls={"random": {"draws": 0}})
    assert checkout.start(*SCORES, "--retries", "0").wait(timeout=900) == 1
    assert "Trying to restart" not in checkout.said
    assert explanations(checkout).keys() == {f"gradient_{letter}.parquet" for letter in "acd"}
    assert len(list((checkout.results / "scores").rglob("gini.parquet"))) == 3
