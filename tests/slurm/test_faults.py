"""What clusters do to runs. The same command ends with the undisturbed tables, and nothing that was
finished is computed again.

The runs measure the sensitivity of one cell, in eight parts. Most of their time they wait, so they
share the cluster.
"""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import pytest
from slurm.conftest import SCORES, ClusterCheckout
from workflow.test_kills import tables

from workflow import forked

# The first test waits for all faults, beside whatever else runs.
pytestmark = [pytest.mark.slurm, pytest.mark.workflow, pytest.mark.timeout(1800)]
PART = 4


@dataclass
class Outcome:
    """A run that was disturbed and then ended."""

    checkout: ClusterCheckout
    exit_code: int

    @property
    def log(self) -> str:
        found = list((self.checkout.results / "logs/evaluate").rglob("sensitivity.log"))
        assert len(found) == 1
        return found[0].read_text()

    def repeated(self) -> int:
        """Return how many examples were evaluated more than once."""
        return sum(n > 1 for n in Counter(self.checkout.evaluated()).values())


def wait_for_parts(checkout: ClusterCheckout, count: int = 2) -> None:
    """Wait until a job works on its part number ``count``, so that those before are saved."""
    checkout.wait_until(lambda: len(checkout.evaluated()) >= count * PART, f"{count} parts")


def finish(checkout: ClusterCheckout, run: forked.Run) -> Outcome:
    return Outcome(checkout, run.wait(timeout=900))


def out_of_memory_and_cancelled(checkout: ClusterCheckout) -> Outcome:
    """The first attempt has too little memory for the third part; the second one is cancelled."""
    profile = checkout.root / "profiles/slurm/config.yaml"
    text = profile.read_text()
    profile.write_text(text.replace("mem_mb: 8000 *", "mem_mb: 1200 *", 1))
    assert profile.read_text() != text
    run = checkout.start(*SCORES)
    checkout.held.wait(run)
    running = partial(checkout.cluster.running, "evaluate", checkout.root)
    (job,) = running()
    checkout.cluster.command("scancel", job.id)
    checkout.wait_until(lambda: all(other.id != job.id for other in running()), "it ends")
    checkout.held.release()
    return finish(checkout, run)


def out_of_time(checkout: ClusterCheckout) -> Outcome:
    run = checkout.start(*SCORES)
    wait_for_parts(checkout)
    (job,) = checkout.cluster.running("evaluate", checkout.root)
    checkout.cluster.expire(job)
    return finish(checkout, run)


SCENARIOS = {out_of_memory_and_cancelled: {"slow_memory": 1000, "held_at": "00004.part"}}
MORE = {out_of_time: {"slow_seconds": 5}}  # much like that: the job gets the same signal


@pytest.fixture(scope="module")
def outcomes(unevaluated, pytestconfig):
    """Every scenario's outcome by its name; they run side by side."""
    scenarios = {**SCENARIOS, **(MORE if pytestconfig.getoption("--exhaustive") else {})}
    with ThreadPoolExecutor(len(scenarios)) as pool:
        begun = {
            scenario.__name__: pool.submit(scenario, unevaluated(scenario.__name__, **settings))
            for scenario, settings in scenarios.items()
        }
    return {name: future.result() for name, future in begun.items()}


def named(*scenarios):
    """Return the names of scenarios as parameters, marked as these are."""
    return [
        pytest.param(s.__name__, marks=[pytest.mark.exhaustive] if s in MORE else [])
        for s in scenarios
    ]


@pytest.mark.parametrize("name", named(*SCENARIOS, *MORE))
def test_the_run_ends_with_the_undisturbed_tables(outcomes, undisturbed, name):
    outcome = outcomes[name]
    assert outcome.exit_code == 0, outcome.checkout.said
    assert tables(outcome.checkout, "scores") == tables(undisturbed, "scores")
    assert outcome.checkout.plan(*SCORES) == {}


@pytest.mark.parametrize("name", named(*SCENARIOS, *MORE))
def test_a_job_that_was_ended_goes_on_after_its_last_part(outcomes, name):
    outcome = outcomes[name]
    assert "examples are taken over from an earlier run" in outcome.log
    ends = 2 if name == "out_of_memory_and_cancelled" else 1
    assert outcome.repeated() <= ends * PART


@pytest.mark.parametrize("name", named(out_of_memory_and_cancelled, out_of_time))
def test_snakemake_submits_it_again_by_itself(outcomes, name):
    assert "Trying to restart" in outcomes[name].checkout.said


@pytest.mark.exhaustive
def test_the_time_limit_was_what_ended_the_job(outcomes):
    assert "DUE TO TIME LIMIT" in outcomes["out_of_time"].checkout.said


def test_the_memory_limit_was_what_ended_the_job(outcomes):
    assert "exceeded memory limit" in outcomes["out_of_memory_and_cancelled"].checkout.said


@pytest.mark.exhaustive
def test_controller_restart_and_a_drained_node(unevaluated, undisturbed):
    """The job in the queue survives the one, and waits for the end of the other."""
    checkout = unevaluated("maintenance", slow_seconds=1.0)
    run = checkout.start("--until", "compare")
    wait_for_parts(checkout)
    checkout.cluster.stop_controller()
    wait_for_parts(checkout, 3)
    checkout.cluster.start_controller()
    checkout.cluster.drain()
    # The running job ends; the next one has to wait.
    waiting = checkout.cluster.jobs
    checkout.wait_until(
        lambda: any(job.state == "PENDING" and "compare" in job.comment for job in waiting()),
        "comparing waits for the node",
    )
    assert not checkout.cluster.running("compare", checkout.root)
    checkout.cluster.resume()
    outcome = finish(checkout, run)
    assert outcome.exit_code == 0, checkout.said
    assert tables(checkout, "scores") == tables(undisturbed, "scores")
    assert outcome.repeated() == 0
    assert "Trying to restart" not in checkout.said
