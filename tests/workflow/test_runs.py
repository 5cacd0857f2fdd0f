"""The workflow runs, does nothing twice, and redoes exactly what a change touches."""

import pytest
from demo_figures import check_planted, figures
from support import N_METHODS, N_METRICS, TINY

import exparity
from exparity.artefacts.grid import read_grid

pytestmark = pytest.mark.workflow

CELLS = N_METHODS * N_METRICS
DRAWS = TINY["controls"]["random"]["draws"]
AT_THE_END = {"cost": 1, "report": 1}
JUDGED = {"compare": 1, "judge": 1, "ranking": 1, **AT_THE_END}
OF_ONE_METRIC = {"evaluate": N_METHODS, "negative_control": 1, **JUDGED}


def test_the_quickstart_shows_what_the_demo_runs(checkout, repository):
    page = (repository / "docs" / "quickstart.md").read_text()
    table = page[page.index("\njob  ") + 1 : page.index("```", page.index("\ntotal  "))]
    run = checkout.snakemake("-n", "-q", "rules", "--configfile", "config/config.yaml")
    assert table in run.stdout + run.stderr
    assert f"Its {table.split()[-1]} jobs" in (repository / "README.md").read_text()


@pytest.mark.exhaustive
def test_the_demo_shows_what_it_planted(checkout):
    """Four minutes on two cores."""
    checkout.snakemake("--configfile", "config/config.yaml", "--config", "results=results/demo")
    check_planted(figures(checkout.root / "results" / "demo"))


def test_a_run_fills_every_artefact(baseline):
    tests = exparity.read_results(baseline.results, "tests")
    assert dict(tests["quantity"].value_counts()) == {
        "score": CELLS, "excess": CELLS,
        "random_score": DRAWS * N_METRICS, "random_excess": N_METRICS,
        "skill": N_METHODS, "random_skill": 1,  # of comprehensiveness
    }  # fmt: skip
    assert (tests["n_a"] == 8).all()
    assert (tests["n_pairs"] == 8).all()
    disparity = exparity.read_results(baseline.results, "disparity")
    assert disparity[list(tests.columns)].astype(str).equals(tests.astype(str))
    assert (baseline.results / "report" / "index.html").stat().st_size > 2000
    for artefact in (
        "data", "predictions", "explanations", "scores", "history", "bias",
        "random_scores", "across_trainings", "verdicts",
    ):  # fmt: skip
        assert len(exparity.read_results(baseline.results, artefact))
    # Another exparity, first on the path, would have failed jobs.
    assert baseline.environment["PATH"].startswith(str(baseline.decoy.parent))
    assert [path.name for path in baseline.decoy.parent.iterdir()] == ["exparity"]


def test_workers_of_a_first_run_use_a_classifier_again(baseline):
    logs = [path.read_text() for path in (baseline.results / "logs").rglob("*.log")]
    assert any("the classifier of an earlier job is used again" in log for log in logs)


def test_a_second_run_has_nothing_to_do(finished):
    """And writes the grid again, where that is damaged; where it cannot be, one line says why."""
    grid, path = read_grid(finished.results), finished.results / "grid.json"
    path.write_text("[]")
    assert "Nothing to be done" in finished.snakemake().stderr
    assert read_grid(finished.results) == grid
    path.unlink()
    path.mkdir()
    run = finished.snakemake(check=2)
    assert run.stderr.endswith("exparity: results/grid.json: Is a directory\n")


def test_a_training_that_predicts_one_class_is_named_when_it_ends(checkout):
    """And a classifier that tells the classes apart is not."""
    (checkout.root / "rule.py").write_text(
        "import numpy as np\n\n\n"
        "def predict(texts):\n"
        "    odd = np.array([len(text) % 2 for text in texts], float)\n"
        "    return np.column_stack([odd, 1 - odd])\n"
    )
    models = {
        "untrained": {**TINY["models"]["bert_tiny"], "training": {"learning_rate": 1e-12}},
        "odd": {"predict": "rule.py:predict", "classes": ["female", "male"]},
    }
    checkout.configure(models=models, methods={"occlusion": {}})
    run = checkout.snakemake("--until", "bias")
    bias = exparity.read_results(checkout.results, "bias")
    collapsed = {row.model for row in bias.itertuples() if "collapsed" in row.flags}
    assert collapsed == {"untrained"}
    lines = [line for line in run.stderr.splitlines() if "caution" in line]
    assert lines == [
        "exparity: caution: untrained on pairs_all, seed 0: the classifier predicts one class for "
        "every text, so that its explanations count in no verdict; the run goes on, and Ctrl-C "
        "ends it; train it with a lower learning rate, more warm-up or once more, or take "
        "another classifier"
    ]
    before = run.stderr[: run.stderr.index(lines[0])].splitlines()[-1]
    assert before.endswith("(Rule: finetune)")


def test_how_jobs_use_the_machine_redoes_nothing(finished):
    """What depends on which option is in tests/config/test_config.py."""
    finished.configure(engine={"device": "cpu", "token_budget": 500}, data_dir="elsewhere")
    assert finished.plan() == {}


def test_an_edited_module_redoes_the_metrics_on_it(finished):
    source = finished.root / "src" / "exparity" / "metrics" / "removal.py"
    source.write_text(source.read_text() + "\n# edited\n")
    assert finished.plan() == OF_ONE_METRIC | {"removal_limits": 1, "positive_control": 1}


def test_a_seed_adds_its_own_runs_only(finished):
    expected = {
        "finetune": 1, "bias": 1, "explain": N_METHODS, "evaluate": CELLS,
        "negative_control": N_METRICS, "removal_limits": 1, "positive_control": 1, **JUDGED,
    }  # fmt: skip
    # As Snakemake hands it on to a job of a cluster: all that is read from a command line.
    assert finished.plan("--config", "seeds=['0', '1']", "training={epochs: 3}") == expected


def test_overrides_and_instances_run_their_cells_only(finished):
    matched = {"match": {"method": "gradient", "metric": "gini"}, "metric": {"max_examples": 8}}
    coarse = {"use": "integrated_gradients_x_input", "n_steps": 2}
    finished.configure(methods={**TINY["methods"], "coarse": coarse}, overrides=[matched])
    cells = N_METRICS + 1
    assert finished.plan() == {"explain": 1, "evaluate": cells, **JUDGED}
    finished.snakemake("--until", "compare")
    tests = exparity.read_results(finished.results, "tests").query("quantity == 'score'")
    tests = tests.set_index(["method", "metric"])
    assert tests["n_examples"]["gradient", "gini"] == 8
    assert tests["n_examples"]["gradient", "comprehensiveness"] == 16
    means = tests["mean_a"]
    assert means["coarse", "gini"] != means["integrated_gradients_x_input", "gini"]


def test_a_page_that_lacks_a_part_is_kept_and_the_run_ends_with_3(finished):
    """And each next run makes it again, until nothing fails."""
    page = finished.results / "report" / "index.html"
    source = finished.root / "src" / "exparity" / "report" / "sections" / "definitions.py"
    working = source.read_text()
    source.write_text(f"{working}\n\ndef build(context):\n    raise ValueError('broken here')\n")
    run = finished.snakemake(check=3)
    assert (
        "exparity: it lacks parts that failed: Methods and definitions; it says why" in run.stderr
    )
    text = page.read_text()
    assert "This section failed: ValueError: broken here (definitions.py, line" in text
    assert '<section id="disparity"' in text
    log = (finished.results / "logs" / "report.log").read_text()
    assert "Methods and definitions failed: ValueError: broken here" in log
    assert (finished.results / "report" / "tables" / "verdicts.csv").is_file()
    assert finished.plan() == {"report": 1}
    source.write_text(working)
    run = finished.snakemake()
    assert "exparity: to make, since parts of it failed: results/report/index.html" in run.stderr
    assert "This section failed" not in page.read_text()
    assert finished.plan() == {}


@pytest.mark.exhaustive
def test_a_run_whose_scores_differ_by_rounding_alone_has_its_page(checkout):
    """Every word left out alone: a linear rule of one word has correlations of 1 up to rounding.

    Reports of such scores are in tests/report/test_failures.py.
    """
    checkout.configure(
        methods={"occlusion": {}},
        metrics={"loo_correlation": {}},
        datasets={"pairs_all": {"n_pairs": 40}},
    )
    checkout.snakemake()
    scores = exparity.read_results(checkout.results, "scores")["score"].dropna()
    assert 0 < scores.max() - scores.min() < 1e-9
    assert (checkout.results / "report" / "index.html").is_file()
