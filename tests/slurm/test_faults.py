"""What clusters do to runs. The same command ends with the undisturbed tables, and nothing that was
finished is computed again.

The runs measure the sensitivity of one cell, in eight parts.
"""

from collections import Counter
from functools import partial

import pytest
from slurm.conftest import SCORES, ClusterCheckout
from workflow.test_kills import tables

from workflow import forked

pytestmark = [pytest.mark.slurm, pytest.mark.workflow, pytest.mark.timeout(1800)]
PART = 4


def repeated(checkout: ClusterCheckout) -> int:
    """Return how many examples were evaluated more than once."""
    return sum(n > 1 for n in Counter(checkout.evaluated()).values())


def wait_for_parts(checkout: ClusterCheckout, count: int = 2) -> None:
    """Wait until a job works on its part number ``count``, so that those before are saved."""
    checkout.wait_until(lambda: len(checkout.evaluated()) >= count * PART, f"{count} parts")


def run_out_of_memory_then_cancelled(checkout: ClusterCheckout) -> forked.Run:
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
    return run


def run_out_of_time(checkout: ClusterCheckout) -> forked.Run:
    run = checkout.start(*SCORES)
    wait_for_parts(checkout)
    (job,) = checkout.cluster.running("evaluate", checkout.root)
    checkout.cluster.expire(job)
    return run


@pytest.mark.parametrize(
    ("start", "settings", "limit", "ends"),
    [
        pytest.param(
            run_out_of_memory_then_cancelled,
            {"slow_memory": 1000, "held_at": "00004.part"},
            "exceeded memory limit",
            2,
            marks=pytest.mark.exhaustive,
        ),
        pytest.param(
            *(run_out_of_time, {"slow_seconds": 5}, "DUE TO TIME LIMIT", 1),
            marks=pytest.mark.exhaustive,
        ),
    ],
)
def test_a_job_that_was_ended_goes_on(unevaluated, undisturbed, start, settings, limit, ends):
    checkout = unevaluated(start.__name__, **settings)
    assert start(checkout).wait(timeout=900) == 0, checkout.said
    assert limit in checkout.submissions_said
    assert "Trying to restart" in checkout.said
    assert tables(checkout, "scores") == tables(undisturbed, "scores")
    assert checkout.plan(*SCORES) == {}
    (log,) = (checkout.results / "logs/evaluate").rglob("sensitivity.log")
    assert "examples are taken over from an earlier run" in log.read_text()
    assert repeated(checkout) <= ends * PART


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
    assert run.wait(timeout=900) == 0, checkout.said
    assert tables(checkout, "scores") == tables(undisturbed, "scores")
    assert repeated(checkout) == 0
    assert "Trying to restart" not in checkout.said
