"""Results that are gone, of another config or of replaced inputs are made again, and others not."""

import os
import shutil
import warnings
from pathlib import Path

import pytest
import yaml
from support import N_METHODS, N_METRICS, TINY
from workflow.conftest import Checkout

import exparity
from exparity.artefacts.grid import read_grid
from exparity.config.experiment import Experiment
from exparity.config.tasks import outdated, up_to_date

pytestmark = pytest.mark.workflow

CELL = "pairs_all/bert_tiny/0"
REMOVED = {
    "data": "data/pairs_all.parquet",
    "predictions": f"predictions/{CELL}.parquet",
    "explanations": f"explanations/{CELL}/gradient.parquet",
    "scores": f"scores/{CELL}/gradient/gini.parquet",
    "tests": f"tests/{CELL.rpartition('/')[0]}.parquet",
    "bias": f"bias/{CELL.rpartition('/')[0]}.parquet",
    "random_scores": f"random_scores/{CELL}/gini.parquet",
    "across_trainings": f"across_trainings/{CELL.rpartition('/')[0]}.parquet",
    "verdicts": "verdicts.parquet",
    "disparity": "disparity.parquet",
    "page": "report/index.html",
}
OTHER = "made from other options or inputs"


@pytest.fixture
def experiment(finished, monkeypatch):
    """Return a function: the experiment of the finished run, with other values of some keys."""
    monkeypatch.chdir(finished.root)

    def read(**changes):
        config = yaml.safe_load(finished.config_path.read_text()) | changes
        return Experiment.from_mapping(config)

    return read


@pytest.fixture
def reasons(experiment):
    """Return a function: what of the finished run is to be made again, by path in the results."""

    def ask(**changes):
        asked = outdated(experiment(**changes))
        return {path.removeprefix("results/"): reason for path, reason in asked.items()}

    return ask


def test_what_is_gone_is_missed_but_for_checkpoints(reasons, finished, tmp_path):
    """Which may be removed to save room."""
    shutil.rmtree(finished.results / "models")
    assert reasons() == {}
    for name in REMOVED.values():
        (finished.results / name).rename(tmp_path / "gone")
        assert reasons() == {name: "missing"}
        (tmp_path / "gone").rename(finished.results / name)


def test_an_attempt_knows_what_an_earlier_one_has_finished(experiment):
    explained = f"results/explanations/{CELL}/integrated_gradients_x_input.parquet"
    score = f"results/{REMOVED['scores']}"
    everything = {f"results/models/{CELL}", f"results/{REMOVED['predictions']}", explained, score}
    assert up_to_date(experiment(), everything) == everything
    Path(score).unlink()
    changed = experiment(methods={"gradient": {}, "integrated_gradients_x_input": {"n_steps": 4}})
    assert up_to_date(changed, everything) == everything - {explained, score}


def test_the_next_run_makes_what_is_gone_and_says_so(finished):
    score, figures = finished.results / REMOVED["scores"], finished.results / "report" / "figures"
    before = exparity.read_results(finished.results, "scores")
    score.unlink()
    shutil.rmtree(figures)
    with pytest.warns(UserWarning, match=r"1 of \d+ 'scores' files are missing, such as .*gini"):
        exparity.read_results(finished.results, "scores")
    run = finished.snakemake()
    assert "since missing: results/scores" in run.stderr
    assert any(figures.iterdir())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert exparity.read_results(finished.results, "scores").equals(before)
    assert finished.plan() == {}


def test_options_count_without_snakemakes_notes(finished, reasons):
    shutil.rmtree(finished.root / ".snakemake")
    methods = {"gradient": {}, "integrated_gradients_x_input": {"n_steps": 4}}
    path = f"explanations/{CELL}/integrated_gradients_x_input.parquet"
    assert reasons(methods=methods)[path] == OTHER
    finished.configure(methods=methods)
    assert finished.plan()["explain"] == 1


def test_replaced_inputs_count_whatever_their_time(reasons, finished):
    """A score of another method in the place of one, as an unpacked archive may leave it."""
    score = finished.results / REMOVED["scores"]
    stat = score.stat()
    shutil.copy(next(p for p in score.parents[1].rglob("gini.parquet") if p != score), score)
    for age in (-1000, 1000):
        os.utime(score, (stat.st_atime + age, stat.st_mtime + age))
        assert reasons()[REMOVED["scores"]] == OTHER


def test_a_copy_with_new_times_has_nothing_to_do(baseline, tmp_path):
    """A copy of ``cp -r`` without Snakemake's notes, in an order of times that nobody chose."""
    root = tmp_path / "copy"
    ignored = shutil.ignore_patterns(".snakemake")
    copy = {"symlinks": True, "copy_function": shutil.copyfile, "ignore": ignored}
    shutil.copytree(baseline.root, root, **copy)
    files = sorted((p for p in root.rglob("*") if p.is_file()), reverse=True)
    for age, path in enumerate(files):  # inputs, such as data and explanations, come last
        os.utime(path, (1e9 + age, 1e9 + age))
    assert Checkout(root).plan() == {}


def test_what_a_stopped_run_has_made_anew_makes_the_rest_run(finished):
    """Times told it before: a run ends between a job and those that read its result."""
    finished.configure(methods={**TINY["methods"], "integrated_gradients_x_input": {"n_steps": 4}})
    finished.snakemake("--until", "explain")
    after = {"compare": 1, "judge": 1, "ranking": 1, "cost": 1, "report": 1}
    assert finished.plan() == {"evaluate": N_METRICS, **after}


@pytest.mark.parametrize(
    ("witnesses", "beside"),
    [
        (
            ("forward_simulation", "communication", "mass_accuracy"),
            {"foresee": 1, "negative_control": 3, "positive_control": 1},
        ),
        *(
            pytest.param((witness,), beside, marks=pytest.mark.exhaustive)
            for witness, beside in {
                "forward_simulation": {"foresee": 1, "negative_control": 1, "positive_control": 1},
                "communication": {"negative_control": 1},
                "mass_accuracy": {"negative_control": 1},
            }.items()
        ),
    ],
)
def test_witnesses_are_added_by_their_own_jobs_alone(finished, witnesses, beside):
    """No training, explanation or score that is there is made again.

    Without a word on the reference, forward simulation takes its search out of the plan; what was
    looked up in it stays.
    """
    finished.configure(metrics={**TINY["metrics"], **{name: {} for name in witnesses}})
    after = {"compare": 1, "judge": 1, "ranking": 1, "cost": 1, "report": 1}
    assert finished.plan() == {"evaluate": N_METHODS * len(witnesses), **beside, **after}


def test_only_what_a_target_needs_is_made_again(finished):
    (finished.results / REMOVED["scores"]).unlink()
    assert finished.plan(f"results/{REMOVED['explanations']}") == {}
    assert finished.plan(f"results/{REMOVED['tests']}") == {"evaluate": 1, "compare": 1}


def test_the_report_says_what_is_missing(finished):
    (finished.results / REMOVED["explanations"]).unlink()
    grid = read_grid(finished.results)
    from exparity.report.sections.overview import missing_results

    (sentence,) = missing_results(finished.results, grid)
    assert sentence.startswith("1 explanations file is missing, such as")
