"""The analysis debiasing: what it reads and writes, what it finds, what it refuses."""

import math
from dataclasses import asdict
from functools import partial

import numpy as np
import pytest
from analyses.page import page_of
from made_up import GROUPS, Results, filled, keys_of
from support import TINY, tiny

from exparity import InputError
from exparity.analyses.debiasing import debiasing_cell
from exparity.analyses.debiasing.section import findings, outcome_of
from exparity.artefacts.columns import records
from exparity.artefacts.files import read_artefact
from exparity.artefacts.grid import Grid
from exparity.config.cautions import cautions
from exparity.core.seeding import derive_seed
from exparity.core.settings import Statistics
from exparity.report.gather import Declared, Study
from exparity.report.rows import VerdictRow
from exparity.stages.judge import judge_cells
from exparity.stats.gap_change import gap_changes
from exparity.stats.samples import GroupedTexts

pytestmark = pytest.mark.contract

SCORING = {"use": "gini", "params": {}, "precision": "fp32"}
N = 60


class Made:
    """Artefacts of a base with a gap and a recipe with another, in a folder.

    Args:
        folder: where to.
        gaps: d of each model.
        seeds: trainings.
        collapsed: (model, seed) whose classifier predicts one class.
    """

    def __init__(self, folder, gaps, seeds=(0, 1, 2), collapsed=(), draws=2, matched=True):
        self.folder, self.scores, self.random, self.bias = folder, [], [], []
        results = Results(folder)
        keys = keys_of(N, matched=matched)
        for model, gap in gaps.items():
            for seed in seeds:
                rng = np.random.default_rng(derive_seed(0, model, seed))
                own = gap + 0.2 * rng.normal()
                values = rng.normal(size=2 * N)
                values[::2] += own
                drawn, cell = rng.normal(size=(draws, 2 * N)), ("d", model, seed)
                write = partial(results.write_scores, keys, parameters=SCORING)
                self.scores.append(write(values, *cell, "lime", "gini"))
                if draws:
                    self.random.append(write(drawn, *cell, "gini"))
            rows = [
                filled("bias", quantity=quantity, class_name="", group=pair[0], group_b=pair[1],
                       seed=seed, flags=["collapsed"] * ((model, seed) in collapsed))
                for quantity, pair in (("accuracy", ("", "")), ("tpr_gap_rms", GROUPS))
                for seed in seeds
            ]  # fmt: skip
            self.bias.append(results.write("bias", rows, "d", model))

    def run(self, recipes=("cda",), **options):
        output = self.folder / "out.parquet"
        options = {"base": "plain", "recipes": list(recipes), **options}
        debiasing_cell(self.scores, self.random, None, self.bias, output, **options)
        table, metadata = read_artefact(output, "debiasing")
        return table.to_pylist(), metadata


def of_scores(rows):
    """The rows that are not of the excess."""
    return [row for row in rows if row["quantity"] == "score"]


class TestArtefact:
    @pytest.mark.parametrize("matched", [True, False])
    def test_the_numbers_are_those_of_the_function(self, matched, tmp_path):
        made = Made(tmp_path, {"plain": 1.0, "cda": 0.1}, matched=matched)
        rows = of_scores(made.run(threshold=0.3)[0])
        values = [read_artefact(path, "scores")[0]["score"].to_numpy() for path in made.scores]
        keys = sorted(keys_of(N, matched=matched), key=lambda key: key["example_id"])
        groups, sets = [k["group"] for k in keys], [k["match_id"] for k in keys]
        texts = GroupedTexts.of(groups, GROUPS, sets)
        (changes,) = gap_changes(values[3:], values[:3], texts, Statistics(threshold=0.3))
        for row, change in zip(rows, [*changes.by_training, changes.over_trainings], strict=True):
            for name, value in asdict(change).items():
                assert row[name] == pytest.approx(value, nan_ok=True), name

    def test_a_seed_that_one_model_lacks_is_left_out_and_excess_without_draws(self, tmp_path):
        made = Made(tmp_path, {"plain": 1.0, "cda": 0.1}, draws=0)
        made.scores = [path for path in made.scores if "cda/1" not in path.as_posix()]
        rows, _ = made.run()
        assert {row["quantity"] for row in rows} == {"score"}
        assert [(row["seed"], row["n_seeds"]) for row in rows] == [(0, 1), (2, 1), (None, 2)]
        assert {(r["dataset"], r["model"], r["base"], r["method"], r["metric"]) for r in rows} == {
            ("d", "cda", "plain", "lime", "gini")
        }

    def test_collapsed_trainings_are_flagged_and_left_out(self, tmp_path):
        made = Made(tmp_path, {"plain": 1.0, "cda": 0.1}, collapsed=[("plain", 1), ("cda", 2)])
        rows = of_scores(made.run()[0])
        assert ["collapsed" in row["flags"] for row in rows] == [False, True, True, False]
        assert math.isnan(rows[1]["change"])
        assert rows[3]["change"] == pytest.approx(rows[0]["change"])


def test_models_that_were_scored_otherwise_are_refused(tmp_path):
    made = Made(tmp_path, {"plain": 1.0, "cda": 0.1}, draws=0)
    other, cell = {**SCORING, "params": {"epsilon": 1.0}}, ("d", "cda", 2, "lime", "gini")
    Results(tmp_path).write_scores(keys_of(N), [0.5] * 2 * N, *cell, parameters=other)
    with pytest.raises(InputError, match="was scored with other options than"):
        made.run()


def study(results):
    """A study whose verdicts are of the changes in a debiasing artefact beside ``results``."""
    output = results / "verdicts.parquet"
    judge_cells([], [], [results / "out.parquet"], output, results / "disparity.parquet")
    grid = Grid(
        pairs=[("d", "plain"), ("d", "cda")], seeds=[0, 1, 2, 3, 4], methods={"lime": "lime"},
        metrics={"gini": "gini"}, title="t", datasets={"d": "pairs_all"},
    )  # fmt: skip
    return Study(
        results=results, grid=grid, bias=[], facts={"d": Declared("gender", GROUPS, ("a", "b"))},
        judged=records(VerdictRow, read_artefact(output, "verdicts")[0]),
    )  # fmt: skip


@pytest.mark.parametrize(("gap", "outcome"), [(0.1, "smaller"), (3.0, "larger")])
def test_the_section_says_what_is_planted(gap, outcome, tmp_path):
    rows, _ = Made(tmp_path, {"plain": 1.5, "cda": gap}, seeds=range(5)).run()
    of = study(tmp_path)
    shown = findings(rows, of)
    (changes,) = shown.values["changes"].values()
    assert {change.quantity for change in changes} == {"change", "excess_change"}
    assert all(outcome_of(change) == f"{change.verdict}, {outcome}" for change in changes)
    html = page_of("debiasing", shown, of)
    assert outcome in html
    assert "nan" not in html


def experiment(settings, **models):
    models = {name: {**TINY["models"]["bert_tiny"], **own} for name, own in models.items()}
    return tiny(datasets={"bios": {}}, models=models, analyses={"debiasing": settings})


LONGER = {"debias": "os", "training": {"epochs": 5}}


class TestConfig:
    def test_recipes_differ_in_debias_alone(self):
        found = experiment({"base": "plain"}, plain={}, os={"debias": "os"}, same={}, longer=LONGER)
        settled = found.options("debiasing", {"dataset": "bios"})
        assert (settled["base"], settled["recipes"]) == ("plain", ["os"])
        (message,) = [line for line in cautions(found) if line.startswith("analyses.debiasing")]
        assert message == (
            "analyses.debiasing: not compared with 'plain': same (has the same debias), "
            "longer (differs in training.epochs)"
        )

    @pytest.mark.parametrize(
        ("base", "message"),
        [
            ("plane", r"analyses.debiasing.base: no model 'plane' here; .*plain"),
            ("longer", r"no model differs from 'longer' in debias alone"),
        ],
    )
    def test_a_base_without_recipes_is_refused(self, base, message):
        with pytest.raises(InputError, match=message):
            experiment({"base": base}, plain={}, os={"debias": "os"}, longer=LONGER)


def test_jobs_of_a_metric_of_changed_words_read_counterfactuals():
    found = tiny(
        datasets={"bios": {"paired": False}}, metrics={"term_attribution": {}},
        counterfactuals={"bios": "gender_words"},
    )  # fmt: skip
    cell = {"dataset": "bios", "model": "bert_tiny", "seed": 0, "metric": "term_attribution"}
    artefact = "results/counterfactuals/bios.parquet"
    assert found.reads("evaluate", {**cell, "method": "gradient"})[-1] == artefact
    assert found.inputs("negative_control", cell)["counterfactuals"] == [artefact]
    del cell["metric"]
    assert found.inputs("reliance", cell)["counterfactual_predictions"] == (
        "results/counterfactual_predictions/bios/bert_tiny/0.parquet"
    )
