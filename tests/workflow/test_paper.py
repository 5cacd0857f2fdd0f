"""The published grid: planned whole, and run in its smallest form."""

import subprocess
from itertools import product
from pathlib import Path

import pytest
import yaml
from support import cpu_seconds, interpreter_seconds

import exparity

pytestmark = pytest.mark.workflow

HERE = Path(__file__).parent
METHODS = [
    "gradient",
    "gradient_x_input",
    "integrated_gradients",
    "integrated_gradients_x_input",
    "lime",
    "shap",
]
METRICS = [
    "comprehensiveness", "sufficiency", "soft_comprehensiveness", "soft_sufficiency", "gini",
    "sparsity", "sensitivity",
]  # fmt: skip


@pytest.mark.exhaustive
def test_the_whole_grid_is_planned_in_seconds_without_data_or_network(checkout):
    before = cpu_seconds()
    paper = ("--configfile", "config/paper.yaml", "--config", "data_dir=nowhere")
    # Not forked: what a fork of another process uses is not counted here.
    run = subprocess.run(
        checkout.command("-n", *paper),
        cwd=checkout.root,
        env=checkout.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    lines = (run.stdout + run.stderr).splitlines()
    assert max(map(len, lines)) < 1000  # one had 860,467 characters
    assert sum(map(len, lines)) < 4e6
    table = [line.split() for line in lines]
    counts = {row[0]: int(row[1]) for row in table if len(row) == 2 and row[1].isdigit()}
    trained = (4 * 5 + 2 * 2) * 5
    assert counts["evaluate"] == trained * 6 * 7 == 5040
    assert counts["compare"] == counts["bias"] == 4 * 5 + 2 * 2
    assert counts["explain"] == trained * 6
    assert counts["finetune"] == trained
    assert counts["negative_control"] == trained * 6  # sensitivity explains again
    assert counts["prepare"] == 4
    # Half a minute to a minute: nearly all of it is Snakemake's, 190 units when this was written.
    assert cpu_seconds() - before < 350 * interpreter_seconds()


@pytest.mark.exhaustive
def test_every_leaf_of_the_small_grid_exists(checkout):
    config = yaml.safe_load((HERE / "configs" / "paper-ci.yaml").read_text())
    checkout.configure(**config)
    checkout.snakemake()
    assert checkout.plan() == {}
    trained = [("stereotypes", "gpt2")]
    tests = exparity.read_results(checkout.results, "tests").query("quantity == 'score'")
    found = tests[["dataset", "model", "method", "metric"]].astype(str)
    assert sorted(found.itertuples(index=False, name=None)) == sorted(
        (*pair, method, metric) for pair, method, metric in product(trained, METHODS, METRICS)
    )
    assert (tests["n_examples"] == tests["metric"].map({"sensitivity": 8}).fillna(24)).all()
    assert (tests["n_pairs"] > 0).mean() > 0.9
    for artefact in (
        "bias",
        "random_scores",
        "across_trainings",
        "verdicts",
    ):
        rows = exparity.read_results(checkout.results, artefact)
        pairs = set(rows[["dataset", "model"]].astype(str).itertuples(index=False, name=None))
        assert pairs == set(trained), artefact
    assert (checkout.results / "report" / "index.html").is_file()
