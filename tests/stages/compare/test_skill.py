"""Skill in compare and judge: what is planted is found, and certainty alone is none of it."""

from importlib import import_module

import numpy as np
import pytest
from compared import judge
from made_up import GROUPS, Results, keys_of

from exparity.analyses.debiasing import debiasing_cell
from exparity.artefacts.files import read_artefact
from exparity.stages.compare import compare_model

SEEDS, FEW, TEXTS, DRAWS = range(4), range(2), 200, 5
FACTS = {"parameters": {"use": "comprehensiveness", "params": {}, "precision": "fp32"}}
READ_BY_DEBIASING = ("scores", "random_scores", "removal_limits")
SKILL = {"by": "removal", "better": "higher"}


@pytest.fixture(scope="module")
def simulations(repository):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(repository / "benchmarks"))
        yield import_module("closed_forms")


class Planted:
    """A model whose classifiers and explanations of each group are a closed form."""

    def __init__(self, simulations, root, *groups, metric=SKILL, seeds=SEEDS, model="m"):
        self.simulations, self.results, self.cell = simulations, Results(root), ("d", model)
        self.groups, self.rng = groups, np.random.default_rng(3)
        self.metric, self.root = metric, root
        self.keys, labels = keys_of(TEXTS, matched=False), [0, 0, 1, 1] * (TEXTS // 2)
        self.results.write_texts(self.keys, labels, "d")
        for training in seeds:
            self.results.write_predictions(self.keys, labels, labels, *self.cell, training)
            self._write(training)

    def _write(self, training):
        scores, drawn, limits = [], [], []
        closed = self.simulations
        for group, of_group in zip(self.groups, (self.keys[::2], self.keys[1::2]), strict=True):
            texts = closed.drawn(group, 1, TEXTS, self.rng)
            numbers = self.rng.random((1, TEXTS, DRAWS, group.n))
            own, best, random = (
                closed.falls_of(texts, orders)
                for orders in (
                    closed.orders_of(texts.shown)[..., None, :],
                    closed.reference_of(texts)[..., None, :],
                    closed.orders_of(numbers),
                )
            )
            sizes = own.sizes
            steps = closed.sizes_taken(texts)[0]
            for i, key in enumerate(of_group):
                falls = [each[0, i, 0][steps[i]] for each in (own.probability, own.log_odds)]
                scores.append({
                    **key, "score": float(falls[0].mean()), "sizes": sizes[steps[i]].tolist(),
                    "falls": falls[0].tolist(), "falls_log_odds": falls[1].tolist(),
                })  # fmt: skip
                means = random.probability[0, i].mean(-1)
                drawn += [{**key, "draw": d, "score": float(v)} for d, v in enumerate(means)]
                limits += [
                    {
                        **key, "direction": "removed", "unit": "token", "size": int(size),
                        "random": random.probability[0, i, :, k].tolist(),
                        "random_log_odds": random.log_odds[0, i, :, k].tolist(),
                        "reference": float(best.probability[0, i, 0, k]),
                        "reference_log_odds": float(best.log_odds[0, i, 0, k]),
                    }
                    for k, size in enumerate(sizes)
                ]  # fmt: skip
        facts = {**FACTS, "skill": self.metric}
        self.results.write("scores", scores, *self.cell, training, "e", "comp", **facts)
        self.results.write("random_scores", drawn, *self.cell, training, "comp", **facts)
        self.results.write("removal_limits", limits, *self.cell, training)

    def compared(self):
        """Verdicts of the method, and of random explanations, by quantity; and all tests."""
        names = ("predictions", "scores", "random_scores", "removal_limits")
        *given, limits = (self.results.of_model(name, *self.cell) for name in names)
        outputs = [self.root / f"{name}.parquet" for name in ("tests", "across", "levels")]
        tests, across, _ = outputs
        compare_model(
            self.root / "data/d.parquet", *given, *outputs, removal_limits=limits,
            statistics={"resamples": 0},
        )  # fmt: skip
        verdicts = {row["quantity"]: row for row in judge([across], [tests])}
        return verdicts, read_artefact(tests, "tests")[0]


@pytest.fixture
def planted(simulations, tmp_path):
    def make(first, second, **options):
        groups = [simulations.Group(**changes) for changes in (first, second)]
        return Planted(simulations, tmp_path / "results", *groups, **options)

    return make


def test_certainty_alone_is_equivalent_by_skill(planted):
    """Score and excess call the surer group the better explained one."""
    verdicts, _ = planted({}, {"temperature": 2.0}, seeds=range(8)).compared()
    assert [verdicts[q]["verdict"] for q in ("score", "excess", "skill")] == [
        "different", "different", "equivalent",
    ]  # fmt: skip
    assert verdicts["score"]["d"] > 1
    assert [verdicts[q]["stands"] for q in ("score", "excess", "skill")] == [False, False, True]
    assert verdicts["random_skill"]["verdict"] in ("equivalent", "undecided")
    assert abs(verdicts["random_skill"]["d"]) < 0.2
    # All scales are in the row.
    row, score = verdicts["skill"], verdicts["score"]
    assert row["d"] == row["d_ranks"]
    p_values = [row[f"p_{scale}"] for scale in ("ranks", "log_odds", "probability")]
    assert row["p_mean"] in (max(p_values), 1.0)
    assert 0 < row["skill_a"] < 1.2
    assert 0.2 < row["room_a"] < 0.6
    assert row["little_room_a"] == 0
    assert np.isnan([score["d_ranks"], score["room_a"]]).all()


def test_what_moves_log_odds_alone_is_no_gap_and_not_equivalent(planted):
    """A small gap must be small in ranks and in log odds."""
    verdicts, _ = planted({}, {"halved": True}, seeds=range(8)).compared()
    row = verdicts["skill"]
    assert row["verdict"] == "undecided"
    assert row["p_small_ranks"] < 0.025 < row["p_small"] == row["p_small_log_odds"]


def test_noise_is_found_against_certainty(planted):
    """The surer group has the worse explanations, and score and excess name the wrong one."""
    verdicts, tests = planted({"noise": 0.5}, {"halved": True}, seeds=range(8)).compared()
    assert verdicts["score"]["verdict"] == verdicts["excess"]["verdict"] == "different"
    assert min(verdicts["score"]["d"], verdicts["excess"]["d"]) > 0
    skill = verdicts["skill"]
    assert skill["verdict"] == "different"
    assert skill["d"] < 0
    assert skill["skill_a"] < skill["skill_b"]
    better = {r["better_group"] for r in tests.to_pylist() if r["quantity"] == "skill"}
    assert better == {GROUPS[1]}


def test_the_gap_of_scores_is_divided_into_its_sources(planted):
    """Where certainty alone differs, hardly anything belongs to the explanations."""
    verdicts, tests = planted({}, {"halved": True}).compared()
    for quantity in ("score", "random_score"):
        row = verdicts[quantity]
        parts = [row[f"gap_{source}"] for source in ("chance", "room", "explanations")]
        assert sum(parts) == pytest.approx(row["estimate"], abs=1e-12)
        assert row["gap_explanations_low"] < 0 < row["gap_explanations_high"]
        assert abs(row["gap_explanations"]) < 0.1 * abs(row["estimate"])
    assert np.isnan([verdicts["excess"]["gap_chance"], verdicts["skill"]["gap_room"]]).all()
    of_trainings = [row for row in tests.to_pylist() if row["quantity"] == "score"]
    for source in ("chance", "room", "explanations"):
        mean = np.mean([row[f"gap_{source}"] for row in of_trainings])
        assert mean == pytest.approx(verdicts["score"][f"gap_{source}"], abs=1e-12)
    for row in of_trainings:
        parts = [row[f"gap_{source}"] for source in ("chance", "room", "explanations")]
        assert sum(parts) == pytest.approx(row["mean_difference"], abs=1e-12)


def test_a_scale_on_which_one_group_has_no_room_is_named(planted):
    """The second group is sure without any word: noise in the first shows on two scales only."""
    skill = planted({"noise": 0.5}, {"base": 4.5}).compared()[0]["skill"]
    assert "probability_cannot_tell" in skill["flags"]
    assert "log_odds_cannot_tell" not in skill["flags"]
    assert skill["verdict"] == "undecided"
    assert max(skill["d_ranks"], skill["d_log_odds"]) < -0.3
    assert max(skill["p_ranks"], skill["p_log_odds"]) < 0.025 < skill["p_probability"]
    less_sure = planted({"noise": 0.5}, {"base": 2.0}).compared()[0]["skill"]
    assert "probability_cannot_tell" in less_sure["flags"]


@pytest.mark.sweep
@pytest.mark.parametrize(("first", "second", "differ"), [
    ({"words": 2}, {"words": 5, "base": -3.0}, True),
    ({}, {"against": 3}, True),
    ({"n": 10, "words": 1}, {"words": 1}, True),
    ({}, {"noise": 0.5}, False),
    ({}, {"base": -3.0}, False),
    ({}, {"halved": True}, False),
])  # fmt: skip
def test_texts_in_which_more_units_count_are_named(planted, first, second, differ):
    """There skill can err, and what else differs cannot tell whether it does."""
    skill = planted(first, second, seeds=FEW).compared()[0]["skill"]
    assert ("counting_units_differ" in skill["flags"]) == differ
    assert (abs(skill["counting_d"]) > 0.5) == differ
    assert (skill["counting_a"] + 0.5 < skill["counting_b"]) == differ


class TestDebiasing:
    """Changes of the gap by a recipe, beside a base with a gap of its own."""

    @pytest.fixture
    def changes(self, planted, tmp_path):
        def of(base, recipe):
            """Verdicts by quantity: of the second group by either model, the first is plain."""
            for model, second in (("plain", base), ("cda", recipe)):
                planted({}, second, model=model)
            root = tmp_path / "results"
            files = [sorted((root / name).rglob("*.parquet")) for name in READ_BY_DEBIASING]
            debiasing_cell(*files, [], root / "out.parquet", base="plain", recipes=["cda"])
            return {row["quantity"]: row for row in judge([], [], [root / "out.parquet"])}

        return of

    def test_of_certainty_alone_none_is_one_of_explanations(self, changes):
        rows = changes({"halved": True}, {})
        assert [rows[name]["verdict"] for name in ("change", "excess_change")] == ["different"] * 2
        assert rows["change"]["d"] < -1
        assert rows["skill_change"]["verdict"] in ("equivalent", "undecided")
        assert abs(rows["skill_change"]["d"]) < 0.2

    def test_of_noise_is_found_against_certainty(self, changes):
        rows = changes({"noise": 0.5}, {"halved": True})
        assert rows["change"]["d"] > 0  # as if debiasing had made it worse
        assert rows["skill_change"]["verdict"] == "different"
        assert rows["skill_change"]["d"] < 0


def test_one_training_is_tested_by_means(planted):
    verdicts, tests = planted({}, {"noise": 0.5}, seeds=[2]).compared()
    row = verdicts["skill"]
    assert "one_training" in row["flags"]
    assert row["verdict"] == "different"
    assert row["d"] > 0
    (test,) = [r for r in tests.to_pylist() if r["quantity"] == "skill"]
    assert test["p"] == row["p_mean"]
    assert test["significant"]
    for name in ("U", "rank_biserial", "wilcoxon_p"):
        assert np.isnan(test[name])
    assert test["mean_a"] == pytest.approx(row["skill_a"])
    assert test["cohens_d"] == pytest.approx(row["d"], rel=1e-6)


def test_metrics_without_a_skill_have_none(planted):
    quantities = planted({}, {}, metric={"by": "none", "better": "higher"}, seeds=FEW).compared()[0]
    assert {"score", "excess", "random_score", "random_excess"} == quantities.keys()
    assert quantities["excess"]["stands"]


def test_skill_is_better_the_higher_it_is_whatever_the_metric(planted):
    """Of tokens that are kept, gains are of falls that are smaller."""
    skill = {"by": "ratio", "better": "lower"}
    row = planted({}, {}, metric=skill, seeds=FEW).compared()[0]["skill"]
    # Falls by random orders are smaller here, and the ideal is the lower bound.
    assert row["skill_a"] < 0
    assert np.isnan(row["d_log_odds"])
