"""The analysis reliance: attribution on changed words beside the effect of changing them."""

import math

import numpy as np
import pytest
from made_up import GROUPS, Results, keys_of
from scipy import stats

from exparity.artefacts.files import read_artefact
from exparity.stages.reliance import reliance_cell
from exparity.stats.rank_correlation import rank_correlation

pytestmark = pytest.mark.contract

CELL = ("d", "m", 0)
N = 40


def run(folder, relies, **options):
    """Texts of each group whose prediction moves by a known amount; attribution may follow it."""
    rng = np.random.default_rng(0)
    effects = rng.uniform(0, 0.4, N)
    scores = np.argsort(np.argsort(effects)) / N if relies else rng.permutation(N) / N
    scores[::10] = math.nan  # what is not changed
    results, keys, labels = Results(folder), keys_of(N // 2, matched=False), [0, 1] * (N // 2)
    predictions = results.write_predictions(keys, labels, [0] * N, *CELL)
    rows = []
    for i, key in enumerate(keys):
        move = 0.0 if i % 10 == 0 else effects[i]  # up for one class, and down for the other
        rows.append({
            "example_id": key["example_id"], "group": key["group"],
            "group_to": GROUPS[1 - i % 2], "label": labels[i], "predicted": 0,
            "probabilities": [0.5 + move, 0.5 - move], "n_changed": int(i % 10 != 0),
        })  # fmt: skip
    changed = results.write("counterfactual_predictions", rows, *CELL)
    scores, output = results.write_scores(keys, scores, *CELL, "lime", "terms"), folder / "out"
    reliance_cell([scores], predictions, changed, output, **options)
    return read_artefact(output, "reliance")[0].to_pylist()


@pytest.mark.parametrize("target", ["label", "predicted"])
def test_attribution_that_follows_the_effect(target, tmp_path):
    (row,) = run(tmp_path, relies=True, target=target)
    assert row["correlation"] == pytest.approx(1.0)
    assert (row["n"], row["n_unchanged"]) == (36, 4)
    assert (row["method"], row["metric"], row["group_a"], row["group_b"]) == (
        "lime", "terms", *GROUPS,
    )  # fmt: skip


def test_attribution_that_does_not(tmp_path):
    (row,) = run(tmp_path, relies=False)
    assert row["ci_low"] < 0 < row["ci_high"]


class TestRankCorrelation:
    def test_the_correlation_equals_scipy(self):
        rng = np.random.default_rng(3)
        x = np.round(rng.normal(size=30), 1)
        y = np.round(x + rng.normal(size=30), 1)
        found = rank_correlation(x, y)
        assert found.correlation == pytest.approx(stats.spearmanr(x, y).statistic)
        z, reach = (
            math.atanh(found.correlation),
            1.959964 * math.sqrt((1 + found.correlation**2 / 2) / 27),
        )
        assert (found.ci_low, found.ci_high) == pytest.approx(
            (math.tanh(z - reach), math.tanh(z + reach))
        )

    def test_undefined_values_are_left_out(self):
        assert rank_correlation([1, 2, 3, math.nan], [1, 2, 3, 4]).n == 3

    @pytest.mark.parametrize(("x", "y"), [([1, 2], [1, 2]), ([1, 1, 1], [1, 2, 3])])
    def test_a_correlation_of_constant_or_few_values_is_undefined(self, x, y):
        assert math.isnan(rank_correlation(x, y).correlation)

    def test_few_have_no_interval(self):
        found = rank_correlation(range(9), [1, 0, 2, 4, 3, 6, 5, 8, 7])
        assert found.correlation > 0.8
        assert math.isnan(found.ci_low)
