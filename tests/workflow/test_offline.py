"""Runs without a network: what is missing is said at once, with the target that gets it."""

import pytest

from workflow import forked

pytestmark = pytest.mark.workflow


def test_fetch_asks_for_what_the_config_names_and_runs_nothing_else(checkout, monkeypatch):
    checkout.configure(models={"bert": {"checkpoint": "nobody/nothing"}})
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    run = checkout.snakemake("--", "fetch", check=1)
    said = run.stdout + run.stderr
    assert "pairs_all: nothing to fetch" in run.stdout
    assert not list(checkout.results.rglob("*.parquet"))
    assert "exparity: checkpoint nobody/nothing: there is no folder nobody/nothing here" in said
    assert "Traceback" not in said


def test_a_compute_node_names_the_target(checkout):
    """Within a SLURM job nothing is downloaded, unless the config says so."""
    checkout.configure(datasets={"geco_all": {}}, data_dir="raw")
    environment = {**checkout.environment, "SLURM_JOB_ID": "7"}
    del environment["HF_HUB_OFFLINE"]  # the workflow sets it
    flags = checkout.command("--until", "finetune")[3:]
    run = forked.run(flags, checkout.root, environment, 300)
    said = run.stdout + run.stderr
    lines = {line for line in said.splitlines() if line.startswith("exparity: ")}
    assert len(lines) == 1, lines
    (line,) = lines
    assert "train.jsonl is missing" in line
    assert "snakemake fetch" in line
