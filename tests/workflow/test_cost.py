"""A plan from a small measuring run tells what the whole run then takes."""

import contextlib
from pathlib import Path

import pytest

import exparity
from exparity.config.command_line import read_experiment
from exparity.costs.finished import read_finished
from exparity.costs.forecast import Total, estimated, totals
from exparity.costs.planned import PlannedExamples, planned_jobs
from exparity.tools.cost import cost

pytestmark = pytest.mark.workflow

# Two of three trainings are planned from the first.
LARGER = {
    "seeds": [0, 1, 2],
    "datasets": {"pairs_all": {"n_pairs": 600}},
    "training": {"epochs": 6, "learning_rate": 0.003},
    "methods": {"lime": {}},
    "metrics": {"comprehensiveness": {}, "gini": {}},
}


def plan(checkout) -> dict[str, Total]:
    """What `exparity plan` prints: a sum for each stage, and that of all."""
    with contextlib.chdir(checkout.root):
        experiment = read_experiment([checkout.config_path])
        planned = planned_jobs(experiment, PlannedExamples(experiment))
        finished = read_finished(Path(experiment.results))
        return {row.stage: row for row in totals(estimated(planned, finished, "cpu"))}


def jobs_of(planned) -> dict[str, int]:
    return {stage: row.jobs for stage, row in planned.items() if stage != "total"}


@pytest.mark.exhaustive
def test_a_plan_foretells_the_cpu_time_of_a_run(checkout, record_property):
    """In CPU time: what else runs on the machine stretches wall time by more than the margin.

    Of these jobs, that of a quiet machine is the sum of CPU time and a little waiting for files.
    """
    checkout.configure(**LARGER)
    checkout.snakemake("--config", "seeds=[0]")
    planned = plan(checkout)
    assert 0 < planned["total"].finished < planned["total"].jobs
    assert planned["total"].unknown == 0

    checkout.snakemake()
    cost(checkout.results)
    used = exparity.read_results(checkout.results, "cost")
    # The plan knows every job, by Snakemake's own count of them.
    assert jobs_of(planned) == dict(used["stage"].value_counts())
    assert set(used["stage"]) == {
        "prepare", "finetune", "explain", "evaluate", "compare", "judge", "bias",
        "negative_control", "ranking",
    }  # fmt: skip
    assert used["seconds"].notna().all()
    telling = used[used["work_seconds"].notna()]
    assert set(telling["stage"]) == {"finetune", "explain", "evaluate", "negative_control"}
    assert (telling["seconds"] >= telling["work_seconds"]).all()
    ratio = planned["total"].cpu_seconds / used["cpu_seconds"].sum()
    record_property("ratio", float(ratio))  # pytest-xdist sends plain numbers only
    assert 1 / 1.5 < ratio < 1.5

    # What has been used is what a plan then says of it, to the second.
    after = plan(checkout)
    assert after["total"].finished == after["total"].jobs == len(used)
    assert after["total"].seconds_to_go == 0


def test_jobs_are_those_of_snakemake(checkout):
    checkout.configure(
        seeds=[0, 1],
        methods={"gradient": {}, "lime": {}},
        metrics={"comprehensiveness": {}, "gini": {}},
    )
    counted = checkout.plan()
    assert counted.pop("cost") == counted.pop("report") == 1  # which sum the others up
    assert jobs_of(plan(checkout)) == counted
