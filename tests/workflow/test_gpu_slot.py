"""On a machine with one GPU, jobs that run a model wait for each other."""

import os
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support import write_program
from workflow.conftest import Checkout, add_slow, copy_checkout

pytestmark = pytest.mark.workflow


class WithGpu(Checkout):
    """A copy whose jobs find the program that every machine with a GPU of NVIDIA has."""

    @property
    def environment(self) -> dict[str, str]:
        programs = self.root / "bin"
        write_program(programs / "nvidia-smi", "")
        path = os.pathsep.join([str(programs), os.environ["PATH"]])
        return {**super().environment, "PATH": path, "SLOW_SECONDS": "0.05"}


def span(path: Path) -> tuple[float, float]:
    """Return when the job that made an artefact started and ended."""
    started = pq.read_schema(path).metadata[b"exparity.started"]
    return float(started), path.stat().st_mtime


def test_no_two_jobs_run_a_model_at_once(repository, tmp_path):
    made = WithGpu(copy_checkout(repository, tmp_path / "checkout").root)
    add_slow(
        made,
        repository,
        methods={"slow": {}, "again": {"use": "slow"}},
        metrics={"slow_drop": {}},
        controls={"random": {"draws": 1}},
        datasets={"pairs_all": {"n_pairs": 40}},
    )
    made.snakemake("--until", "evaluate", "negative_control")
    model_jobs = [
        *made.results.glob("predictions/*/*/*.parquet"),
        *made.results.glob("explanations/*/*/*/*.parquet"),
        *made.results.glob("scores/*/*/*/*/slow_drop.parquet"),
        *made.results.glob("random_scores/*/*/*/*.parquet"),
    ]
    spans = sorted(span(path) for path in model_jobs)
    assert len(spans) == 1 + 2 + 2 + 1
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
