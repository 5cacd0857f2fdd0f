"""The analysis debiasing: what it reads and writes, what it finds, what it refuses."""

import copy
import math
import sys
from dataclasses import asdict

import numpy as np
import pytest
from made_up import with_earlier
from support import TINY

from exparity import InputError
from exparity.analyses.debiasing import debiasing_cell
from exparity.analyses.debiasing.section import findings, outcome_of
from exparity.artefacts.analyses import ANALYSES
from exparity.artefacts.files import read_artefact, write_artefact
from exparity.config.cautions import cautions
from exparity.config.experiment import Experiment
from exparity.core.seeding import derive_seed
from exparity.debiasing import INTERVENTIONS
from exparity.report.bias import Declared, ModelBias
from exparity.report.context import section_of
from exparity.report.gather import Study
from exparity.report.render import template_of
from exparity.report.templating import html_environment
from exparity.stages.judge import judge_cells
from exparity.stats.gap_change import gap_changes

pytestmark = pytest.mark.contract

GROUPS = ("male", "female")
FACTS = {"groups": list(GROUPS), "attribute": "gender"}
SCORING = {"use": "gini", "params": {}, "precision": "fp32"}
N = 60


def examples(n=N, matched=True):
    return [
        {"example_id": f"{i:03d}-{g}", "group": g, "match_id": f"{i:03d}" if matched else None}
        for i in range(n)
        for g in GROUPS
    ]


class Made:
    """Artefacts of a base with a gap and a recipe with another, in a folder.

    Args:
        folder: where to.
        gaps: d of each model.
        seeds: trainings.
        collapsed: (model, seed) whose classifier predicts one class.
    """

    def __init__(self, folder, gaps, seeds=(0, 1, 2), collapsed=(), draws=2, sd=0.2, matched=True):
        self.folder, self.matched = folder, matched
        self.scores, self.random, self.bias = [], [], []
        for model, gap in gaps.items():
            for seed in seeds:
                cell = {"dataset": "d", "model": model, "seed": seed}
                rng = np.random.default_rng(derive_seed(0, model, seed))
                self.add_scores(cell, gap + sd * rng.normal(), rng)
                if draws:
                    self.add_random(cell, rng, draws)
                self.add_bias(cell, (model, seed) in collapsed)

    def write(self, artefact, name, rows, ids, **extra):
        path = self.folder / f"{name}-{'-'.join(map(str, ids.values()))}.parquet"
        parameters = SCORING if artefact != "bias" else {}
        write_artefact(path, artefact, rows, ids, parameters=parameters, extra={**FACTS, **extra})
        return path

    def add_scores(self, cell, gap, rng):
        values = rng.normal(size=2 * N)
        values[::2] += gap
        keys = examples(matched=self.matched)
        rows = [{**key, "score": value} for key, value in zip(keys, values, strict=True)]
        ids = {**cell, "method": "lime", "metric": "gini"}
        self.scores.append(self.write("scores", "s", rows, ids))

    def add_random(self, cell, rng, draws):
        rows = [
            {**key, "draw": draw, "score": value}
            for draw in range(draws)
            for key, value in zip(
                examples(matched=self.matched), rng.normal(size=2 * N), strict=True
            )
        ]
        self.random.append(self.write("random_scores", "r", rows, {**cell, "metric": "gini"}))

    def add_bias(self, cell, collapsed):
        def row(quantity, value, *pair):
            group, group_b = pair or ("", "")
            return {
                "quantity": quantity, "group": group, "group_b": group_b, "class_name": "",
                "value": value, "n": 9, "ci_low": math.nan, "ci_high": math.nan,
                "flags": ["collapsed"] * collapsed, "seed": cell["seed"],
            }  # fmt: skip

        rows = [row("accuracy", 0.9), row("tpr_gap_rms", 0.1, *GROUPS)]
        of_model = {name: cell[name] for name in ("dataset", "model")}
        path = self.folder / f"b-{'-'.join(of_model.values())}.parquet"
        self.write("bias", "b", with_earlier(path, "bias", rows), of_model)
        self.bias = [*dict.fromkeys([*self.bias, path])]

    def run(self, recipes=("cda",), **options):
        output = self.folder / "out.parquet"
        options = {"base": "plain", "recipes": list(recipes), **options}
        debiasing_cell(self.scores, self.random, None, self.bias, output, **options)
        table, metadata = read_artefact(output, "debiasing")
        return table.to_pylist(), metadata


def of_scores(rows):
    """The rows that are not of the excess."""
    return [row for row in rows if row["quantity"] == "score"]


def values_of(path):
    return read_artefact(path, "scores")[0].column("score").to_numpy()


class TestArtefact:
    def test_one_row_per_training_and_one_over_all(self, tmp_path):
        made = Made(tmp_path, {"plain": 1.0, "cda": 0.1, "os": 0.9})
        every, metadata = made.run(["cda", "os"])
        rows = of_scores(every)
        assert len(every) == 2 * len(rows)
        assert [(r["model"], r["seed"]) for r in rows] == [
            (model, seed) for model in ("cda", "os") for seed in (0, 1, 2, None)
        ]
        assert {(r["dataset"], r["base"], r["method"], r["metric"]) for r in rows} == {
            ("d", "plain", "lime", "gini")
        }
        assert metadata["wildcards"] == {"dataset": "d"}
        assert metadata["parameters"]["recipes"] == ["cda", "os"]

    @pytest.mark.parametrize("matched", [True, False])
    def test_the_numbers_are_those_of_the_function(self, matched, tmp_path):
        made = Made(tmp_path, {"plain": 1.0, "cda": 0.1}, matched=matched)
        rows = of_scores(made.run(threshold=0.3)[0])
        values = [values_of(path) for path in made.scores]
        keys = sorted(examples(matched=matched), key=lambda key: key["example_id"])
        groups, sets = [k["group"] for k in keys], [k["match_id"] for k in keys]
        (changes,) = gap_changes(values[3:], values[:3], groups, GROUPS, sets, threshold=0.3)
        for row, change in zip(rows, [*changes.of_seeds, changes.over_seeds], strict=True):
            for name, value in asdict(change).items():
                assert row[name] == pytest.approx(value, nan_ok=True), name

    def test_a_seed_that_one_model_lacks_is_left_out_and_excess_without_draws(self, tmp_path):
        made = Made(tmp_path, {"plain": 1.0, "cda": 0.1}, draws=0)
        made.scores = [path for path in made.scores if "cda-1" not in path.name]
        rows, _ = made.run()
        assert {row["quantity"] for row in rows} == {"score"}
        assert [(row["seed"], row["n_seeds"]) for row in rows] == [(0, 1), (2, 1), (None, 2)]

    def test_collapsed_trainings_are_flagged_and_left_out(self, tmp_path):
        made = Made(tmp_path, {"plain": 1.0, "cda": 0.1}, collapsed=[("plain", 1), ("cda", 2)])
        rows = of_scores(made.run()[0])
        assert ["collapsed" in row["flags"] for row in rows] == [False, True, True, False]
        assert math.isnan(rows[1]["change"])
        assert rows[3]["change"] == pytest.approx(rows[0]["change"])


class TestRefused:
    def test_models_that_were_scored_otherwise(self, tmp_path):
        made = Made(tmp_path, {"plain": 1.0, "cda": 0.1}, draws=0)
        table, metadata = read_artefact(made.scores[-1], "scores")
        parameters = {**SCORING, "params": {"epsilon": 1.0}}
        write_artefact(made.scores[-1], "scores", table.to_pylist(), metadata["wildcards"],
                       parameters=parameters, extra=FACTS)  # fmt: skip
        with pytest.raises(InputError, match="was scored with other options than"):
            made.run()


def study(results):
    """A study whose verdicts are of the changes in a debiasing artefact beside ``results``."""
    output = results / "verdicts.parquet"
    judge_cells([], [], [results / "out.parquet"], output, results / "disparity.parquet")
    statistics = {"alpha": 0.05, "threshold": 0.2, "confidence": 0.95, "family": ["dataset"]}
    return Study(
        results=results, options={}, title="t", pairs=[("d", "plain"), ("d", "cda")],
        seeds=[0, 1, 2, 3, 4], methods={"lime": "lime"}, metrics={"gini": "gini"},
        datasets={"d": "pairs_all"}, statistics=statistics,
        bias=ModelBias([], {"d": Declared("gender", GROUPS, ("a", "b"))}), accuracies=[],
        judged=read_artefact(output, "verdicts")[0].to_pylist(),
    )  # fmt: skip


class TestSection:
    @pytest.mark.parametrize(("gap", "outcome"), [(0.1, "smaller"), (3.0, "larger")])
    def test_what_is_planted_is_said(self, gap, outcome, tmp_path):
        rows, _ = Made(tmp_path, {"plain": 1.5, "cda": gap}, seeds=range(5)).run()
        of = study(tmp_path)
        shown = findings(rows, of, {})
        (changes,) = shown.values["changes"].values()
        assert {one["quantity"] for one in changes} == {"change", "excess_change"}
        assert all(outcome_of(one) == f"{one['verdict']}, {outcome}" for one in changes)
        template = template_of(html_environment(), section_of(ANALYSES.get("debiasing"), shown))
        html = template.render(study=of, **shown.values)
        assert outcome in html
        assert "nan" not in html


@pytest.fixture
def experiment(repository):
    plugins = [str(repository / "tests" / "debiasing" / "mending_plugin.py")]
    before = set(sys.modules)

    def make(settings, **models):
        tiny = TINY["models"]["bert_tiny"]
        config = {
            **copy.deepcopy(TINY),
            "plugins": plugins,
            "datasets": {"bios": {}},
            "models": {name: {**tiny, **own} for name, own in models.items()},
            "analyses": {"debiasing": settings},
        }
        return Experiment.from_mapping(config)

    yield make
    for name in set(sys.modules) - before:
        if name.startswith("exparity_plugin_mending"):
            del sys.modules[name]
    for id in ("mirrored", "sampled"):
        INTERVENTIONS._entries.pop(id, None)


class TestConfig:
    def test_recipes_differ_in_debias_alone(self, experiment):
        found = experiment(
            {"base": "plain"},
            plain={}, os={"debias": "sampled"}, same={},
            longer={"debias": "sampled", "training": {"epochs": 5}},
        )  # fmt: skip
        settled = found.analyses.options("debiasing", {"dataset": "bios"})
        assert settled["recipes"] == ["os"]
        assert settled["base"] == "plain"
        (message,) = [line for line in cautions(found) if line.startswith("analyses.debiasing")]
        assert message == (
            "analyses.debiasing: not compared with 'plain': same (has the same debias), "
            "longer (differs in training.epochs)"
        )

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"base": "plane"}, r"analyses.debiasing.base: no model 'plane' here; .*plain"),
            ({"base": "longer"}, r"no model differs from 'longer' in debias alone"),
        ],
    )
    def test_refused(self, experiment, settings, message):
        with pytest.raises(InputError, match=message):
            experiment(
                settings,
                plain={}, os={"debias": "sampled"},
                longer={"debias": "sampled", "training": {"epochs": 5}},
            )  # fmt: skip

    def test_a_metric_of_changed_words_needs_a_generator(self, experiment, repository):
        config = {**copy.deepcopy(TINY), "datasets": {"bios": {"paired": False}},
                  "metrics": {"term_attribution": {}}}  # fmt: skip
        with pytest.raises(InputError, match="'bios': it has no generator of counterfactuals"):
            Experiment.from_mapping(config)
        config["counterfactuals"] = {"bios": "gender_words"}
        found = Experiment.from_mapping(config)
        cell = {"dataset": "bios", "model": "bert_tiny", "seed": 0, "metric": "term_attribution"}
        artefact = "results/counterfactuals/bios.parquet"
        assert found.reads("evaluate", {**cell, "method": "gradient"})[-1] == artefact
        assert found.analyses.inputs("negative_control", cell)["counterfactuals"] == [artefact]
        del cell["metric"]
        assert found.analyses.inputs("reliance", cell)["counterfactual_predictions"] == (
            "results/counterfactual_predictions/bios/bert_tiny/0.parquet"
        )
