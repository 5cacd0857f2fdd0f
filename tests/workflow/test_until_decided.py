"""Trainings until cells are decided: killed on the way, the same command comes to the same end."""

import io
import shutil
import subprocess
import sys

import pyarrow.parquet as pq
import pytest
from held import held
from workflow.test_kills import tables

import exparity
from exparity.config.trainings import trainings_of
from workflow import forked, zygote

pytestmark = pytest.mark.workflow
LOOKS = [2, 3]
UNTIL = {
    "seeds": {"until": "decided", "looks": LOOKS},
    # Large enough that no classifier collapses: then nothing is judged.
    "datasets": {"pairs_all": {"n_pairs": 100}},
    "training": {"epochs": 20, "learning_rate": 0.003},
    "methods": {"gradient": {}},
    "metrics": {"comprehensiveness": {}},
    "controls": {"random": {"draws": 0}},
}


def started(checkout) -> subprocess.Popen:
    command = ["until-decided", "--configfile", str(checkout.config_path), "--cores", "2"]
    return subprocess.Popen(
        [sys.executable, "-c", "from exparity.cli import run; run()", *command],
        cwd=checkout.root,
        env={**checkout.environment, zygote.ADDRESS: zygote.address()},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def done(checkout) -> str:
    run = started(checkout)
    printed = run.communicate(timeout=600)[0]
    assert run.returncode == 0, printed
    return printed


def killed(checkout, place) -> None:
    """Start it, and kill all of it before something is put into place."""
    with held(place) as job:
        run = started(checkout)
        try:
            job.wait(run)
        finally:
            forked.kill_group(run.pid)
            run.communicate(timeout=60)


def verdicts(checkout) -> bytes:
    """The content of the verdicts, without times."""
    sink = io.BytesIO()
    table = pq.read_table(checkout.results / "verdicts.parquet")
    pq.write_table(table.replace_schema_metadata(None), sink)
    return sink.getvalue()


@pytest.mark.parametrize("twice", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
def test_killed_it_resumes_to_the_same_verdicts(checkout, twice):
    checkout.configure(**UNTIL)
    if twice:
        killed(checkout, "verdicts.parquet")
        assert not (checkout.results / "trainings.json").exists()
    killed(checkout, "predictions/pairs_all/bert_tiny/2.parquet")
    assert trainings_of(checkout.results, ["pairs_all"], LOOKS, together=False) == {"pairs_all": 3}
    printed = done(checkout)
    assert "pairs_all, 3 trainings: " in printed
    assert checkout.plan() == {}

    resumed = tables(checkout), verdicts(checkout)
    # The first two trainings were finished before the kill: all else is made anew, undisturbed.
    results = checkout.results
    for name in ("tests", "across_trainings", "adjusted_gaps", "report"):
        shutil.rmtree(results / name, ignore_errors=True)
    for path in [*results.rglob("2"), *results.rglob("2.*"), *results.glob("*.*")]:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    undisturbed = done(checkout)
    assert undisturbed.count("of 1 cells are decided") == 3  # after each look, and in the end
    assert "; 3 next" in undisturbed
    assert (tables(checkout), verdicts(checkout)) == resumed
    rows = exparity.read_results(checkout.results, "verdicts").to_dict("records")
    assert all(row["verdict"] for row in rows)
    assert {row["look"] for row in rows} <= set(LOOKS)
    assert all(row["n_seeds"] <= row["look"] for row in rows)


def test_fixed_seeds_are_refused(checkout):
    run = started(checkout)
    assert "seeds: are fixed; write seeds: {until: decided}" in run.communicate(timeout=60)[0]
    assert run.returncode == 2
