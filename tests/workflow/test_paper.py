"""The published grid, planned as a whole."""

import subprocess

import pytest
from support import cpu_seconds, interpreter_seconds

pytestmark = pytest.mark.workflow


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
