"""Runs and submissions on a SLURM that commands on the path stand in for."""

import pytest
from support import write_program

pytestmark = pytest.mark.workflow


def test_a_queue_that_tells_no_ends_gets_no_jobs(checkout):
    """SLURM without accounting, whose settings cannot be read."""
    scripts = {"sbatch": 'touch "$0.ran"', "squeue": "", "sinfo": "", "scontrol": "exit 1"}
    for name, script in {**scripts, "sacct": "exit 1"}.items():
        write_program(checkout.decoy.parent / name, script)
    run = checkout.snakemake("--profile", "profiles/slurm", check=2)
    (line,) = [line for line in run.stderr.splitlines() if line.startswith("exparity: ")]
    assert "have MinJobAge set to 300 in slurm.conf, or accounting switched on" in line
    assert not (checkout.decoy.parent / "sbatch.ran").exists()
    assert checkout.plan()  # lists jobs wherever they would run


def test_a_submission_whose_input_does_not_appear_fails(finished):
    """SLURM would call it completed, and the run wait for its outputs."""
    target = ("--mode", "remote", "--target-jobs", "prepare:dataset=pairs_all")
    wait = ("--latency-wait", "1", "--wait-for-files")
    run = finished.snakemake(*target, *wait, "results/nobody/makes/it", check=1)
    assert "Missing files after 1 seconds" in run.stderr
    finished.snakemake(*target, *wait, "results/grid.json")
