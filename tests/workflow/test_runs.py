"""The workflow runs, does nothing twice, and redoes exactly what a change touches."""

from __future__ import annotations

import re
import shutil

import pyarrow.parquet as pq
import pytest
from support import N_METHODS, N_METRICS, TINY

import exparity

pytestmark = pytest.mark.workflow

PLUGIN = '''
"""Share of the largest score."""
import numpy as np
from exparity.metrics import metric


@metric("peak_share", direction="higher", bounds=(0.0, 1.0), unit="share", kind="complexity",
        needs="attributions", stochastic=False, reference="the user's own")
def peak_share(scores, content_mask, *, power: float = 1.0):
    """Largest normalised attribution."""
    return np.max(np.abs(np.where(content_mask, scores, 0.0)) ** power, axis=1)
'''


def test_the_quickstart_shows_what_the_demo_runs(checkout, repository):
    page = (repository / "docs" / "quickstart.md").read_text()
    table = page[page.index("\njob  ") + 1 : page.index("```", page.index("\ntotal  "))]
    run = checkout.snakemake("-n", "-q", "rules", "--configfile", "config/config.yaml")
    assert table in run.stdout + run.stderr
    assert f"Its {table.split()[-1]} jobs" in (repository / "README.md").read_text()
    # The plan in docs/cost.md, which leaves out the table of costs and the end of the workflow.
    plan = (repository / "docs" / "cost.md").read_text()
    for stage, jobs in (line.split() for line in table.splitlines()[2:]):
        if stage not in ("cost", "all", "total"):
            assert re.search(rf"^{stage} +{jobs} ", plan, re.M), f"docs/cost.md: {stage}"


def test_a_run_fills_every_artefact(baseline):
    cells = N_METHODS * N_METRICS
    tests = exparity.read_results(baseline.results, "tests")
    assert len(tests) == cells
    assert (tests["n_a"] == 8).all()
    assert (tests["n_pairs"] == 8).all()
    disparity = exparity.read_results(baseline.results, "disparity")
    assert len(disparity) == cells
    assert (baseline.results / "report" / "index.html").stat().st_size > 2000
    for artefact in (
        "data", "predictions", "explanations", "scores", "history", "bias", "controls",
        "random_scores", "random_tests", "across_trainings", "adjusted_gaps",
    ):  # fmt: skip
        assert len(exparity.read_results(baseline.results, artefact))
    logs = sorted(p.name for p in (baseline.results / "logs").rglob("*.log"))
    benchmarks = sorted(p.stem for p in (baseline.results / "benchmarks").rglob("*.tsv"))
    assert [p.removesuffix(".log") for p in logs] == benchmarks


def test_jobs_run_the_exparity_of_snakemakes_python(baseline):
    """Another one, first on the path, would have failed them."""
    assert baseline.environment["PATH"].startswith(str(baseline.decoy.parent))
    assert [path.name for path in baseline.decoy.parent.iterdir()] == ["exparity"]


def test_files_carry_their_provenance(baseline):
    path = next((baseline.results / "scores").rglob("gini.parquet"))
    metadata = pq.read_schema(path).metadata
    for key in ("version", "stage", "wildcards", "parameters", "packages", "wall_seconds"):
        assert f"exparity.{key}".encode() in metadata


def test_a_second_run_has_nothing_to_do(finished):
    assert finished.plan() == {}
    assert "Nothing to be done" in finished.snakemake().stderr


def test_jobs_are_chosen_when_one_has_ended_and_not_otherwise(finished):
    """Snakemake's default limit of jobs a second makes more and more rounds of scheduling."""
    for folder in ("scores", "tests", "report"):
        shutil.rmtree(finished.results / folder)
    jobs = sum(finished.plan().values())
    rounds = finished.snakemake("--verbose").stderr.count("Resources before job selection")
    assert jobs / 2 <= rounds <= jobs + 2


def test_adding_a_metric_adds_its_own_jobs_only(finished):
    plugin = finished.root / "mine" / "peak.py"
    plugin.parent.mkdir()
    plugin.write_text(PLUGIN)
    metrics = {**TINY["metrics"], "peak": {"use": "peak_share", "power": 2}}
    finished.configure(plugins=["mine/peak.py"], metrics=metrics)
    expected = {
        "evaluate": N_METHODS, "test": N_METHODS, "negative_control": 1, "random_tests": 1,
        "across_trainings": 1, "adjusted_gaps": 1, "control": 1, "cost": 1, "report": 1,
    }  # fmt: skip
    assert finished.plan() == expected
    finished.snakemake()
    assert finished.plan() == {}
    scores = exparity.read_results(finished.results, "scores")
    assert len(scores[scores["metric"] == "peak"]) == 16 * N_METHODS
    tests = exparity.read_results(finished.results, "tests")
    assert tests["excess_n_a"].eq(8).all()
    random = exparity.read_results(finished.results, "random_scores")
    assert random.groupby("metric", observed=True).size().to_dict() == {
        "comprehensiveness": 5 * 16, "gini": 5 * 16, "peak": 5 * 16,
    }  # fmt: skip
    page = (finished.results / "report" / "index.html").read_text()
    assert "Peak share" in page
    # Its source is watched like that of the package's own metrics.
    plugin.write_text(PLUGIN + "\n# another thought\n")
    assert finished.plan() == expected


def test_changing_a_method_redoes_its_column_only(finished):
    methods = {**TINY["methods"], "integrated_gradients_x_input": {"n_steps": 4}}
    finished.configure(methods=methods)
    expected = {
        "explain": 1, "evaluate": N_METRICS, "test": N_METRICS, "across_trainings": 1,
        "adjusted_gaps": 1, "control": 1, "cost": 1, "report": 1,
    }  # fmt: skip
    assert finished.plan() == expected


def test_editing_a_metric_redoes_that_metric_only(finished):
    source = finished.root / "src" / "exparity" / "metrics" / "gini.py"
    source.write_text(source.read_text() + "\n# edited\n")
    assert finished.plan() == {
        "evaluate": N_METHODS,
        "test": N_METHODS,
        "negative_control": 1,
        "random_tests": 1,
        "across_trainings": 1,
        "adjusted_gaps": 1,
        "control": 1,
        "cost": 1,
        "report": 1,
    }


def test_editing_a_shared_core_redoes_the_metrics_on_it(finished):
    source = finished.root / "src" / "exparity" / "metrics" / "removal.py"
    source.write_text(source.read_text() + "\n# edited\n")
    assert finished.plan() == {
        "evaluate": N_METHODS,
        "test": N_METHODS,
        "negative_control": 1,
        "random_tests": 1,
        "across_trainings": 1,
        "adjusted_gaps": 1,
        "control": 1,
        "cost": 1,
        "report": 1,
    }


def test_statistics_redo_tests_only(finished):
    finished.configure(statistics={"resamples": 300})
    assert finished.plan() == {"test": N_METHODS * N_METRICS, "bias": 1, "cost": 1, "report": 1}


def test_a_declared_family_redoes_the_report_only(finished):
    finished.configure(statistics={**TINY["statistics"], "family": ["dataset", "metric"]})
    assert finished.plan() == {"report": 1}


def test_controls_are_a_part_that_can_be_left_out(finished):
    finished.configure(controls={"permutation": {"repeats": 7}})
    assert finished.plan() == {"control": 1, "cost": 1, "report": 1}
    finished.configure(controls={"permutation": {"repeats": 0}})
    assert finished.plan() == {"report": 1}
    off = {"permutation": {"repeats": 0}, "random": {"draws": 0}}
    finished.configure(controls=off)
    tests = N_METHODS * N_METRICS
    assert finished.plan() == {"test": tests, "across_trainings": 1, "cost": 1, "report": 1}
    finished.snakemake()
    assert finished.plan() == {}
    assert exparity.read_results(finished.results, "tests")["excess_p"].isna().all()


def test_a_seed_adds_its_own_runs_only(finished):
    cells = N_METHODS * N_METRICS
    expected = {
        "finetune": 1, "bias": 1, "explain": N_METHODS, "evaluate": cells, "test": cells,
        "across_trainings": 1, "adjusted_gaps": 1, "control": 1,
        "negative_control": N_METRICS, "random_tests": 1, "cost": 1, "report": 1,
    }  # fmt: skip
    # On the command line, and as Snakemake hands it on to a job of a cluster.
    for seeds in ("[0, 1]", "['0', '1']"):
        assert finished.plan("--config", f"seeds={seeds}", "training={epochs: 3}") == expected
    finished.configure(seeds=[0, 1])
    assert finished.plan() == expected


def test_how_jobs_use_the_machine_redoes_nothing(finished):
    finished.configure(engine={"device": "cpu", "token_budget": 500}, data_dir="elsewhere")
    assert finished.plan() == {}


def test_overrides_redo_the_cells_they_match(finished):
    finished.configure(
        overrides=[
            {"match": {"method": "gradient", "metric": "gini"}, "metric": {"max_examples": 8}}
        ]
    )
    assert finished.plan() == {
        "evaluate": 1,
        "test": 1,
        "across_trainings": 1,
        "adjusted_gaps": 1,
        "control": 1,
        "cost": 1,
        "report": 1,
    }
    finished.snakemake()
    tests = exparity.read_results(finished.results, "tests")
    sizes = tests.set_index(["method", "metric"])["n_examples"]
    assert sizes["gradient", "gini"] == 8
    assert sizes["gradient", "comprehensiveness"] == 16


def test_results_do_not_depend_on_the_token_budget(baseline, finished):
    finished.configure(engine={"token_budget": 64})
    finished.snakemake("--forcerun", "explain", "--until", "evaluate")
    one = exparity.read_results(baseline.results, "scores")
    other = exparity.read_results(finished.results, "scores")
    assert one["example_id"].tolist() == other["example_id"].tolist()
    assert abs(one["score"] - other["score"]).max() < 1e-4


def test_two_named_instances_of_one_method(finished):
    methods = {**TINY["methods"], "coarse": {"use": "integrated_gradients_x_input", "n_steps": 2}}
    finished.configure(methods=methods, metrics={"gini": {}})
    finished.snakemake()
    found = exparity.read_results(finished.results, "disparity").set_index("method")
    assert set(found.index) == set(methods)
    means = found["mean_a"]
    assert means["coarse"] != means["integrated_gradients_x_input"]


# Tests of one seed; the demo's jobs stand in the quickstart.
SHIPPED = {
    "gecobench-small": 200,
    "correctness": 192,
    "gecobench": 900,
    "geco": 168,
    "paper": 1008,
    "paper-small": 1008,
    "debiasing-small": 144,
    "debiasing": 480,
    "fairness": 0,
    "chen2024": 0,
}
FIRST, *OTHERS = SHIPPED


@pytest.mark.parametrize(
    "name", [FIRST, *(pytest.param(name, marks=pytest.mark.exhaustive) for name in OTHERS)]
)
def test_a_shipped_config_is_planned(checkout, name):
    """tests/workflow/test_paper.py has the largest whole."""
    shipped = checkout.root / "config" / f"{name}.yaml"
    planned = checkout.plan("--configfile", str(shipped), "--config", "seeds=[0]")
    assert planned.get("test", 0) == SHIPPED[name]


def test_no_shipped_config_is_left_out(repository):
    assert {"config", *SHIPPED} == {path.stem for path in (repository / "config").glob("*.yaml")}
