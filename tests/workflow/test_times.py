"""Times of files count for nothing: what a result was made from does."""

import os
import shutil

import pytest
from support import N_METRICS, TINY
from workflow.conftest import Checkout

pytestmark = pytest.mark.workflow

AFTER = {"compare": 1, "judge": 1, "cost": 1, "report": 1}


@pytest.fixture(params=[pytest.param("with", marks=pytest.mark.exhaustive), "without"])
def copied(baseline, tmp_path, request) -> Checkout:
    """A copy whose files have the times of copying them, in an order that nobody chose."""
    root = tmp_path / "checkout"
    shutil.copytree(baseline.root, root, symlinks=True, copy_function=shutil.copyfile)
    files = sorted((p for p in root.rglob("*") if p.is_file()), reverse=True)
    for age, path in enumerate(files):  # inputs, such as data and explanations, come last
        os.utime(path, (1e9 + age, 1e9 + age))
    if request.param == "without":
        shutil.rmtree(root / ".snakemake")
    return Checkout(root)


def test_a_copy_with_new_times_has_nothing_to_do(copied):
    """Copies are those of ``cp -r``, with Snakemake's notes or without them."""
    assert copied.plan() == {}


def test_what_a_stopped_run_has_made_anew_makes_the_rest_run(finished):
    """Times told it before: a run ends between a job and those that read its result."""
    finished.configure(methods={**TINY["methods"], "integrated_gradients_x_input": {"n_steps": 4}})
    finished.snakemake("--until", "explain")
    assert finished.plan() == {"evaluate": N_METRICS, **AFTER}
