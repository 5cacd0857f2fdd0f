"""The small experiment through SLURM: each job where it belongs, and the same tables."""

import re
from collections import Counter
from itertools import combinations, pairwise

import pytest
from slurm.conftest import copy_small
from workflow.test_kills import tables

pytestmark = [pytest.mark.slurm, pytest.mark.workflow]
GPU = "gres:gpu:v100:1"


@pytest.fixture(scope="module")
def jobs(small):
    return submissions(small.cluster)


def submissions(run):
    """Return every job of a run, in the order of submission."""
    found = [j for j in run.cluster.jobs(ended=True) if j.folder == str(run.root)]
    return sorted(found, key=lambda job: int(job.id))


def test_the_tables_are_those_of_a_local_run(small):
    assert tables(small.cluster) == tables(small.local)
    assert len(tables(small.cluster)) == 1  # of the one dataset and model
    assert small.cluster.plan() == {}


def test_jobs_that_run_a_model_get_a_gpu_and_no_others_do(jobs):
    on_gpu = ("finetune", "explanations_explain", "scores_gpu_", "scores_slow_")
    on_gpu += ("random_explanations_",)
    without = ("prepare", "scores_evaluate", "statistics_", "report_")
    for job in jobs:
        rule = job.comment.removeprefix("rule_")
        assert rule.startswith(on_gpu + without), rule
        place = ("gpu", GPU) if rule.startswith(on_gpu) else ("cpu", "N/A")
        assert (job.partition, job.gres) == place, rule
    for kind in on_gpu + without:
        assert any(job.comment.startswith(f"rule_{kind}") for job in jobs), kind


def test_short_jobs_are_submitted_together(jobs):
    """Two explain jobs make one, six evaluate jobs three, compare one, cost and report one."""
    names = [job.comment.removeprefix("rule_") for job in jobs]
    for group, count in (
        ("explanations_", 1), ("scores_", 3), ("statistics_", 1), ("random_explanations_", 1),
        ("report_", 1),
    ):  # fmt: skip
        assert sum(name.startswith(group) for name in names) == count, (group, names)
    # Their members run one after the other.
    assert all(job.cpus == "1" and job.state == "COMPLETED" for job in jobs)


def test_a_submission_starts_one_snakemake_for_all_its_jobs(small, jobs):
    steps = Counter(use.job for use in small.cluster.cluster.uses())
    assert {job.id: steps[job.id] for job in jobs} == {job.id: 1 for job in jobs}


def test_no_two_jobs_share_a_gpu(small, jobs):
    """As the jobs' own environments had it."""
    with_gpu = {job.id for job in jobs if job.gres == GPU}
    uses = [use for use in small.cluster.cluster.uses() if use.job in {job.id for job in jobs}]
    assert {use.job for use in uses} == {job.id for job in jobs}
    assert all((use.devices in ("0", "1")) == (use.job in with_gpu) for use in uses)
    on_gpu = [use for use in uses if use.devices]
    # Two groups of metrics are evaluated side by side, so both GPUs were used.
    assert {use.devices for use in on_gpu} == {"0", "1"}
    for one, other in combinations(on_gpu, 2):
        apart = one.end <= other.start or other.end <= one.start
        assert one.devices != other.devices or apart, (one, other)


@pytest.fixture
def short(repository, cluster, tmp_path):
    """The small experiment with the variable for short jobs, not run yet."""
    run = copy_small(repository, tmp_path, cluster)
    profile = run.root / "profiles/slurm/config.yaml"
    text = profile.read_text()
    profile.write_text(text.replace("short_jobs: false", "short_jobs: true"))
    assert profile.read_text() != text
    return run


def test_short_jobs_of_a_model_are_planned_together(short):
    planned = short.snakemake("-n").stdout
    groups = re.split(r"^\[.*\] (?:Group job (\w+))?", planned, flags=re.MULTILINE)
    (cell,) = (text for name, text in pairwise(groups) if name == "cell")
    for job, count in (("Fine-tuning", 1), ("Explaining", 2), ("Evaluating", 6)):
        assert cell.count(job) == planned.count(job) == count, job


@pytest.mark.exhaustive
def test_short_jobs_of_a_model_are_one_submission(small, short):
    assert short.start().wait(timeout=600) == 0, short.said
    assert tables(short) == tables(small.local)
    names = [job.comment.removeprefix("rule_").partition("_")[0] for job in submissions(short)]
    assert sorted(names) == ["cell", "prepare", "report", "statistics"]
    (cell,) = (job for job in submissions(short) if "cell" in job.comment)
    assert (cell.partition, cell.gres, cell.cpus, cell.state) == ("gpu", GPU, "1", "COMPLETED")
