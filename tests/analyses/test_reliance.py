"""The analysis reliance: attribution on changed words beside the effect of changing them."""

import math

import numpy as np
import pytest
from made_up import GROUPS, Results
from scipy import stats

from exparity.artefacts.files import read_artefact
from exparity.stages.reliance import reliance_cell
from exparity.stats.rank_correlation import rank_correlation

pytestmark = pytest.mark.contract

CELL = {"dataset": "d", "model": "m", "seed": 0}
N = 40


def made(folder, relies, groups=GROUPS, seed=0, cell=CELL):
    """Texts of each group whose prediction moves by a known amount; attribution follows it."""
    rng = np.random.default_rng(seed)
    effects = rng.uniform(0, 0.4, N)
    scores = np.argsort(np.argsort(effects)) / N if relies else rng.permutation(N) / N
    keys = [(f"{i:03d}", groups[i % len(groups)]) for i in range(N)]
    unchanged = {i for i in range(N) if i % 10 == 0}
    rows = {
        "predictions": [
            {"example_id": e, "group": g, "match_id": None, "label": i % 2, "predicted": 0,
             "probabilities": [0.5, 0.5]}
            for i, (e, g) in enumerate(keys)
        ],
        "scores": [
            {"example_id": e, "group": g, "match_id": None,
             "score": math.nan if i in unchanged else float(scores[i])}
            for i, (e, g) in enumerate(keys)
        ],
        "counterfactual_predictions": [
            {"example_id": e, "group": g, "group_to": other, "label": i % 2, "predicted": 0,
             "probabilities": [0.5 + move * (1 - 2 * (i % 2)), 0.5 - move * (1 - 2 * (i % 2))],
             "n_changed": int(i not in unchanged)}
            for i, (e, g) in enumerate(keys)
            for other in groups
            if other != g
            for move in [0.0 if i in unchanged else effects[i] * (-1) ** i]
        ],
    }  # fmt: skip
    results, place = Results(folder, groups), tuple(cell.values())
    return {
        artefact: results.write(
            artefact, of, *place, *(("lime", "terms") if artefact == "scores" else ())
        )
        for artefact, of in rows.items()
    }


def run(folder, paths, **options):
    output = folder / "out.parquet"
    reliance_cell(
        [paths["scores"]], paths["predictions"], paths["counterfactual_predictions"], output,
        **options,
    )  # fmt: skip
    return read_artefact(output, "reliance")[0].to_pylist()


@pytest.mark.parametrize("target", ["label", "predicted"])
def test_attribution_that_follows_the_effect(target, tmp_path):
    (row,) = run(tmp_path, made(tmp_path, relies=True), target=target)
    assert row["correlation"] == pytest.approx(1.0)
    assert (row["n"], row["n_unchanged"]) == (36, 4)
    assert (row["method"], row["metric"], row["group_a"], row["group_b"]) == (
        "lime", "terms", *GROUPS,
    )  # fmt: skip


def test_attribution_that_does_not(tmp_path):
    (row,) = run(tmp_path, made(tmp_path, relies=False))
    assert row["ci_low"] < 0 < row["ci_high"]


class TestRankCorrelation:
    def test_as_scipy_has_it(self):
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
    def test_nothing_to_say(self, x, y):
        assert math.isnan(rank_correlation(x, y).correlation)

    def test_few_have_no_interval(self):
        found = rank_correlation(range(9), [1, 0, 2, 4, 3, 6, 5, 8, 7])
        assert found.correlation > 0.8
        assert math.isnan(found.ci_low)
