"""Forward simulation over trainings: texts alike, ceilings, and rightly predicted texts."""

import math

import numpy as np
import pytest
from compared import compare, judge, near
from made_up import GROUPS, Results, keys_of

from exparity.artefacts.files import read_artefact
from exparity.stats.crossed import LEFT_OUT, NOT_COMPARABLE, crossed_tests

pytestmark = pytest.mark.contract
A, _ = GROUPS
SETS = 40


class Study:
    """One value of each text of two groups in three trainings, with lengths and ceilings."""

    def __init__(
        self,
        folder,
        lengths,
        gap=0.0,
        ceilings=(0.5, 0.5),
        spread=0.01,
        metric="forward_simulation",
    ):
        self.folder, self.metric = folder, metric
        self.keys = keys_of(SETS, matched=False)
        self.groups = [key["group"] for key in self.keys]
        rng = np.random.default_rng(0)
        is_a = np.array(self.groups) == A
        self.lengths = np.where(is_a, *(rng.integers(*pair, 2 * SETS) for pair in lengths))
        self.values = rng.normal(0.6, 0.1, (3, 2 * SETS)) + gap * is_a
        above = np.where(is_a, is_a.cumsum(), (~is_a).cumsum()) % 2 == 0  # half of each group
        self.ceilings = np.where(is_a, *ceilings) + np.where(above, spread, -spread)

    def scores(self):
        paths = []
        for seed, values in enumerate(self.values):
            columns = zip(
                self.keys,
                values.tolist(),
                self.lengths.tolist(),
                self.ceilings.tolist(),
                strict=True,
            )
            rows = [
                {**key, "score": value, "n_units": n, "ceiling": ceiling}
                for key, value, n, ceiling in columns
            ]
            place = "d", "m", seed, "lime", "forward_simulation"
            facts = {"parameters": {"use": self.metric}}
            paths.append(Results(self.folder).write("scores", rows, *place, **facts))
        return paths

    def predictions(self, right):
        results = Results(self.folder)
        labels = [i % 2 for i in range(2 * SETS)]
        predicted = [y if ok else 1 - y for y, ok in zip(labels, right, strict=True)]
        return [
            results.write_predictions(self.keys, labels, predicted, "d", "m", seed)
            for seed in (0, 1, 2)
        ]

    def judged(self, predictions=()):
        out = self.folder / "across_trainings.parquet"
        compare(self.scores(), (), self.folder / "tests.parquet", out, predictions)
        assert read_artefact(out, "across_trainings")[0].num_rows == 1
        (row,) = judge([out])
        return row


def test_lengths_are_compared_like_with_like(tmp_path):
    study = Study(tmp_path, ((6, 20), (10, 28)))
    row = study.judged()
    covariate = study.lengths.astype(float)
    (test,) = crossed_tests(list(study.values), study.groups, GROUPS, None, covariate=covariate)
    for name in ("estimate", "mean_a", "mean_b", "d", "p_mean", "p_small", "n_a", "n_b"):
        assert row[name] == near(getattr(test, name)), name
    assert LEFT_OUT in row["flags"]


def test_other_metrics_are_compared_as_they_are(tmp_path):
    study = Study(tmp_path, ((6, 20), (10, 28)), metric="gini")
    row = study.judged()
    (test,) = crossed_tests(list(study.values), study.groups, GROUPS)
    assert row["p_mean"] == near(test.p_mean)


def test_a_large_gap_of_texts_without_counterparts_is_not_called_one(tmp_path):
    row = Study(tmp_path, ((12, 13), (24, 25)), gap=0.3).judged()
    assert row["d"] > 1
    assert NOT_COMPARABLE in row["flags"]
    assert row["verdict"] is row["verdict_strict"] is None
    assert Study(tmp_path, ((12, 13), (12, 13)), gap=0.3).judged()["verdict"] == "different"


def test_a_simulation_that_is_the_same_in_texts_of_any_length_is_equivalent(tmp_path):
    study = Study(tmp_path, ((12, 13), (36, 37)))
    study.values[:] = 1.0
    assert study.judged()["verdict"] == "equivalent"


@pytest.mark.parametrize(
    ("ceilings", "spread", "flags"),
    [
        ((0.5, 0.52), 0.01, []),
        ((0.5, 0.44), 0.01, ["ceilings_differ"]),
        ((0.5, 0.44), 0.3, []),  # chance makes such a difference of texts that differ so much
        ((0.13, 0.5), 0.01, ["ceilings_differ", "no_room"]),
        ((0.1, 0.13), 0.01, ["no_room"]),
        ((math.nan, math.nan), 0.01, []),
    ],
)
def test_ceilings_are_beside_it(tmp_path, ceilings, spread, flags):
    row = Study(tmp_path, ((12, 13), (12, 13)), ceilings=ceilings, spread=spread).judged()
    np.testing.assert_allclose([row["ceiling_a"], row["ceiling_b"]], ceilings, rtol=1e-12)
    assert sorted({"ceilings_differ", "no_room"}.intersection(row["flags"])) == flags


class TestRightlyPredicted:
    def test_it_has_the_verdict_of_the_texts_that_are(self, tmp_path):
        study = Study(tmp_path, ((12, 13), (12, 13)))
        right = np.arange(2 * SETS) % 4 < 2
        is_a = np.array(study.groups) == A
        study.values[:, is_a & ~right] -= 0.5
        row = study.judged(study.predictions(right))
        some = np.where(right, study.values, np.nan)
        covariate = study.lengths.astype(float)
        (test,) = crossed_tests(list(some), study.groups, GROUPS, None, covariate=covariate)
        for name in ("mean_a", "mean_b", "d", "p_mean", "p_small", "n_a", "n_b"):
            assert row[f"right_{name}"] == near(getattr(test, name)), name
        assert row["verdict"] == "different"
        assert row["verdict_right"] in ("undecided", "equivalent")

    def test_where_all_are_it_is_the_verdict(self, tmp_path):
        study = Study(tmp_path, ((12, 13), (12, 13)), gap=0.3)
        row = study.judged(study.predictions(np.ones(2 * SETS, dtype=bool)))
        assert (row["verdict"], row["right_d"]) == (row["verdict_right"], row["d"])
        assert (row["share_right_a"], row["share_right_b"]) == (1.0, 1.0)

    def test_two_texts_that_are_right_give_no_verdict(self, tmp_path):
        study = Study(tmp_path, ((12, 13), (12, 13)), gap=0.3)
        right = np.arange(2 * SETS) < 2
        row = study.judged(study.predictions(right))
        assert (row["verdict"], row["verdict_right"]) == ("different", None)
        shares = [right[np.array(study.groups) == group].mean() for group in GROUPS]
        np.testing.assert_allclose([row["share_right_a"], row["share_right_b"]], shares)
