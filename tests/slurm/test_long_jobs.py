"""Long jobs are submissions of their own: two run at once on two GPUs, and each goes on alone.

Both measure sensitivity, in eight parts, of a method whose passes are too many for an hour.
"""

import re
from collections import Counter
from functools import partial

import pytest
from slurm.cluster import Cluster, QueuedJob
from slurm.conftest import SCORES, ClusterCheckout
from slurm.test_faults import PART
from workflow.conftest import Checkout, add_slow, copy_checkout, copy_run
from workflow.test_kills import tables

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.workflow,
    pytest.mark.timeout(1800),
    # What is submitted so is in tests/workflow/test_submissions.py.
    pytest.mark.exhaustive,
]
METHODS = {"slow": {}, "slow_twice": {"use": "slow", "factor": 2.0}}
HELD_PART = 4


@pytest.fixture(scope="module")
def undisturbed(repository, tmp_path_factory) -> Checkout:
    """A finished local run of two methods that differ by a factor, and their sensitivity."""
    local = copy_checkout(repository, tmp_path_factory.mktemp("local") / "checkout")
    metrics = {"sensitivity": {"steps": 1, "radius": 5.0}}
    add_slow(local, repository, methods=METHODS, metrics=metrics)
    local.snakemake(*SCORES)
    return local


def gpus_of(cluster: Cluster, job: QueuedJob) -> str:
    """Return the numbers of the GPUs that a running job has."""
    text = cluster.command("scontrol", "show", "job", "-d", job.id)
    return re.search(r"GRES=gpu:v100:1\(IDX:(\d+)\)", text).group(1)


@pytest.fixture(scope="module")
def disturbed(undisturbed, cluster, tmp_path_factory):
    """That run on the cluster, where the time limit of one of two sensitivity jobs ends it.

    One that is cancelled is in test_faults.py.
    """
    root = copy_run(undisturbed, tmp_path_factory.mktemp("long") / "checkout", "scores")
    place = f"{HELD_PART:05}.part"
    settings = {"cluster": cluster, "config": "config/tiny.yaml", "held_at": place}
    checkout = ClusterCheckout(root, **settings)
    checkout.run = checkout.start(*SCORES)
    before = f"{HELD_PART - 1:05}.part"
    checkout.wait_until(
        lambda: len([*checkout.results.rglob(before)]) == 2 or checkout.run.poll() is not None,
        "both work on the held part",
    )
    running = partial(cluster.running, "rule_evaluate", root)
    checkout.first = running()
    assert len(checkout.first) == 2, checkout.said
    checkout.gpus = {gpus_of(cluster, job) for job in checkout.first}
    cluster.expire(checkout.first[0])
    checkout.wait_until(lambda: checkout.first[0] not in running(), "it ends")
    checkout.held.release()
    checkout.exit_code = checkout.run.wait(timeout=900)
    return checkout


def test_two_long_jobs_run_side_by_side_on_two_gpus(disturbed):
    assert disturbed.gpus == {"0", "1"}
    assert {job.partition for job in disturbed.first} == {"gpu"}


def test_what_a_time_limit_ended_goes_on_from_its_parts(disturbed):
    assert disturbed.exit_code == 0, disturbed.said
    assert "DUE TO TIME LIMIT" in disturbed.said
    logs = (disturbed.results / "logs/evaluate").rglob("sensitivity.log")
    text = "".join(log.read_text() for log in logs)
    (note,) = re.findall(r"(\d+) of \d+ examples are taken over", text)
    # SLURM says that a job has ended while its process, on a busy machine, still saves its part.
    assert int(note) in (HELD_PART * PART, (HELD_PART + 1) * PART)
    again = sum(times - len(METHODS) for times in Counter(disturbed.evaluated()).values())
    assert again <= PART


def test_the_tables_are_those_of_a_local_run(disturbed, undisturbed):
    assert tables(disturbed, "scores") == tables(undisturbed, "scores")
    assert disturbed.plan(*SCORES) == {}


def test_each_attempt_of_a_long_job_is_its_own_submission(disturbed):
    """What shares one is in test_run.py and in tests/workflow/test_submissions.py."""
    jobs = [j for j in disturbed.cluster.jobs(ended=True) if j.folder == str(disturbed.root)]
    rules = [job.comment.partition("_wildcards")[0] for job in jobs]
    assert rules == ["rule_evaluate"] * 3
