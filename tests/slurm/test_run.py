"""The small experiment through SLURM: each job where it belongs, and the same tables.

Its first run is killed as a submission works, and the second one takes over what that has made.
"""

import pytest
from slurm.conftest import explanations
from workflow.test_kills import tables

pytestmark = [pytest.mark.slurm, pytest.mark.workflow]
GPU = "gres:gpu:v100:1"


@pytest.fixture(scope="module")
def jobs(small):
    return submissions(small)


def submissions(run):
    """Return every job of a run, in the order of submission."""
    found = [j for j in run.cluster.jobs(ended=True) if j.folder == str(run.root)]
    return sorted(found, key=lambda job: int(job.id))


def test_the_tables_are_those_of_a_local_run(small, baseline):
    assert tables(small, "tests") == tables(baseline, "tests")
    assert len(tables(small, "tests")) == 1  # of the one dataset and model
    assert small.plan() == {}


def test_what_a_submission_has_finished_is_not_made_again(small):
    assert len(small.finished) == 2
    assert small.finished == explanations(small)


def test_no_run_waits_for_files_that_nobody_makes(small):
    assert "Waiting at most" not in small.said
    assert "some output files are missing" not in small.said


def test_a_training_is_one_submission_on_a_gpu_and_the_rest_has_none(jobs, pytestconfig):
    """Of 10 jobs of a training, metrics without a model among them, and of 4 others, or 5."""
    names = [job.comment.removeprefix("rule_").partition("_")[0] for job in jobs]
    prepared = ["prepare"] if pytestconfig.getoption("--exhaustive") else []
    assert names == [*prepared, "training.pairs", "statistics", "report"]
    for job in jobs:
        place = ("gpu", GPU) if "training" in job.comment else ("cpu", "N/A")
        assert (job.partition, job.gres) == place, job.comment
    # Their members run one after the other.
    assert all(job.cpus == "1" and job.state == "COMPLETED" for job in jobs)


def test_a_training_loads_its_model_once(small):
    """Of six jobs that run it: two explain, two score, two make controls."""
    logs = (small.results / "logs").rglob("*.log")
    again = [log for log in logs if "classifier of an earlier job is used" in log.read_text()]
    assert len(again) == 5
    assert small.said.count("start anew") == 0


def test_a_submission_starts_one_snakemake_for_all_its_jobs(small, jobs):
    tasks = small.cluster.begun()
    assert {job.id: tasks[job.id] for job in jobs} == {job.id: 1 + 1 for job in jobs}
