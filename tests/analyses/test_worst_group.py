"""The analysis worst_group: its formulas, calibration, inputs, and what the page says of it."""

import math

import numpy as np
import pytest
from made_up import Results

from exparity.analyses.worst_group import combined, spread_of, worst_group_cell
from exparity.analyses.worst_group.section import worst_groups
from exparity.artefacts.files import read_artefact

CELL = {"dataset": "d", "model": "m", "seed": 3}
GROUPS = ("a", "b", "c", "d")


def naive(values, groups, sets):
    """Means, squared standard errors, Q, tau squared, mean of all and shrunk means, by loops."""
    units = {}
    for i, (value, group) in enumerate(zip(values, groups, strict=True)):
        key = f"set {sets[i]}" if sets and sets[i] is not None else f"row {i}"
        units.setdefault(group, {}).setdefault(key, []).append(value)
    samples = {g: [sum(v) / len(v) for v in of.values()] for g, of in sorted(units.items())}
    mean = {g: sum(v) / len(v) for g, v in samples.items()}
    squares = {g: sum((x - mean[g]) ** 2 for x in v) for g, v in samples.items()}
    within = sum(squares.values()) / sum(len(v) - 1 for v in samples.values())
    s2 = {
        g: (squares[g] / (len(v) - 1) if len(v) >= 10 and squares[g] else within) / len(v)
        for g, v in samples.items()
    }
    w = {g: 1 / s2[g] for g in mean}
    fixed = sum(w[g] * mean[g] for g in mean) / sum(w.values())
    q = sum(w[g] * (mean[g] - fixed) ** 2 for g in mean)
    scale = sum(w.values()) - sum(x * x for x in w.values()) / sum(w.values())
    tau2 = max(0.0, (q - (len(mean) - 1)) / scale)
    star = {g: 1 / (s2[g] + tau2) for g in mean}
    mu = sum(star[g] * mean[g] for g in mean) / sum(star.values())
    b = {g: s2[g] / (s2[g] + tau2) for g in mean}
    return mean, s2, q, tau2, mu, {g: mu + (1 - b[g]) * (mean[g] - mu) for g in mean}


@pytest.mark.reference
class TestFormulas:
    # python -m venv v && v/bin/pip install statsmodels==0.14.5 && v/bin/python -c "
    # import numpy as np; from statsmodels.stats.meta_analysis import combine_effects
    # r = combine_effects(np.array([.31, .18, .42, .05]), np.array([.004, .0025, .012, .0016]),
    #                     method_re='chi2'); print(r.q, r.tau2, r.mean_effect_re)"
    def test_pooled_effects_are_those_of_statsmodels(self):
        found = combined(
            np.array([0.31, 0.18, 0.42, 0.05]), np.array([0.004, 0.0025, 0.012, 0.0016])
        )
        assert found.q == pytest.approx(18.97898773006135, rel=1e-13)
        assert found.tau2 == pytest.approx(0.01771819727891156, rel=1e-13)
        assert found.center == pytest.approx(0.22052766738495982, rel=1e-13)

    @pytest.mark.parametrize("design", ["rows", "sets_of_one_group", "pairs"])
    def test_spreads_equal_naive_loops(self, design):
        rng = np.random.default_rng(4)
        sizes = {"a": 30, "b": 12, "c": 4, "d": 2}
        groups = [g for g, n in sizes.items() for _ in range(n)]
        if design == "pairs":
            groups = list("ab" * 15 + "cd" * 8)
        shift = {"a": 0.0, "b": 0.6, "c": -0.8, "d": 1.5}
        values = [rng.lognormal() + shift[g] for g in groups]
        sets = None if design == "rows" else [i // 2 for i in range(len(groups))]
        means = spread_of(values, groups, GROUPS, sets, permutations=99)
        spread = means[0]
        mean, s2, q, tau2, mu, shrunk = naive(values, groups, sets)
        assert {m.group: m.mean for m in means} == pytest.approx(mean, rel=1e-12)
        assert {m.group: m.standard_error**2 for m in means} == pytest.approx(s2, rel=1e-12)
        assert (spread.q, spread.tau**2, spread.center) == pytest.approx((q, tau2, mu), rel=1e-10)
        assert {m.group: m.shrunk_mean for m in means} == pytest.approx(shrunk, rel=1e-10)
        assert spread.range == pytest.approx(max(mean.values()) - min(mean.values()), rel=1e-12)
        assert tau2 > 0
        assert spread.lowest == min(shrunk, key=shrunk.get)
        assert spread.highest == max(shrunk, key=shrunk.get)

    def test_p_and_range_by_chance_are_those_of_all_permutations(self):
        """Four values in two groups of two: of six ways to deal them, all are drawn in time."""
        values, groups = [0.0, 1.0, 3.0, 7.0], ["a", "a", "b", "b"]
        spread, *_ = spread_of(values, groups, ("a", "b"), permutations=30_000)
        means = [(0 + 1, 3 + 7), (0 + 3, 1 + 7), (0 + 7, 1 + 3)]
        assert spread.range_by_chance == pytest.approx(
            sum(abs(b - a) / 2 for a, b in means) / 3, rel=0.02
        )
        # the split that it is has the largest Q
        assert spread.p == pytest.approx(1 / 3, abs=0.01)

    def test_groups_are_permuted_within_sets_alone_where_sets_are_pairs(self):
        values = [float(10 * i + (k == "b")) for i in range(12) for k in "ab"]
        sets = [i // 2 for i in range(24)]
        spread, *_ = spread_of(values, list("ab" * 12), ("a", "b"), sets, permutations=4999)
        assert spread.p < 0.003  # of 2^12 ways two are as extreme
        assert spread_of(values, list("ab" * 12), ("a", "b"))[0].p > 0.5


def test_no_gap_between_groups_of_skewed_scores():
    """The p-value is at most 5 % in about 5 % of 400 samples of eight groups of 10 to 300."""
    rng, sizes = np.random.default_rng(8), [10, 14, 20, 30, 50, 80, 150, 300]
    groups = [f"g{i}" for i, n in enumerate(sizes) for _ in range(n)]
    order, p, raw, shrunk, by_chance = sorted(set(groups)), [], [], [], []
    for seed in range(400):
        values = (rng.lognormal(size=len(groups)) - math.exp(0.5)) / 2.1612
        spread, *_ = spread_of(values, groups, order, permutations=199, seed=seed)
        p.append(spread.p)
        raw.append(spread.range)
        shrunk.append(spread.shrunk_range)
        by_chance.append(spread.range_by_chance)
    assert 0.025 <= np.mean(np.array(p) <= 0.05) <= 0.08
    assert np.mean(by_chance) == pytest.approx(np.mean(raw), rel=0.05)
    assert np.mean(shrunk) < 0.25 * np.mean(raw)


class TestTooLittle:
    @pytest.mark.parametrize(
        ("values", "groups"),
        [
            ([1.0, 2.0], ["a", "b"]),
            ([1.0, 2.0, 3.0], ["a", "a", "a"]),
            ([1.0, 1.0, 2.0, 2.0], ["a", "a", "b", "b"]),
            ([1.0] * 6, list("aabbcc")),
        ],
    )
    def test_nothing_is_estimated_of_too_few_or_equal_values(self, values, groups):
        assert spread_of(values, groups, GROUPS) == []

    def test_undefined_values_and_groups_of_one_text(self):
        rng = np.random.default_rng(1)
        values = [*rng.normal(size=30), math.nan, 0.5, math.nan]
        groups = [*"abc" * 10, "a", "d", "d"]
        means = spread_of(values, groups, GROUPS)
        assert means[0].flags == ["undefined_values"]
        assert [(m.group, m.n) for m in means] == [("a", 10), ("b", 10), ("c", 10), ("d", 1)]


KEYS = [{"example_id": f"{i:03d}", "group": GROUPS[i % 4], "match_id": None} for i in range(160)]


def write_scores(folder, metric, shift, *, random=False):
    """Write scores of 40 texts of each group, or of three random explanations of each."""
    gap = shift * np.array([key["group"] == "c" for key in KEYS])
    noise = np.random.default_rng(len(metric)).normal(size=len(KEYS))
    place = [*CELL.values(), *([] if random else ["lime"]), metric]
    parameters = {"use": metric, "params": {}, "precision": "fp32"}
    return Results(folder, GROUPS).write_scores(
        KEYS, [gap] * 3 if random else gap + noise, *place, parameters=parameters,
        bounds=[-100, 100],
    )  # fmt: skip


class TestAnalysis:
    def run(self, folder, predicted=(0, 1), random=True):
        scores = [write_scores(folder, "gini", 2.0), write_scores(folder, "sparsity", 0.0)]
        drawn = [write_scores(folder, "gini", 2.0, random=True)] if random else None
        output = folder / "out.parquet"
        labels, predicted = [0, 1] * 80, [*predicted] * 80
        predictions = Results(folder).write_predictions(KEYS, labels, predicted, *CELL.values())
        worst_group_cell(predictions, scores, drawn, output, permutations=999)
        table, metadata = read_artefact(output, "worst_group")
        assert metadata["parameters"] == {"permutations": 999}
        return table.to_pylist()

    def test_a_worst_group_is_found_and_its_excess_is_not(self, tmp_path):
        rows = self.run(tmp_path)
        cells = {(row["metric"], row["quantity"]): row for row in rows}
        assert cells.keys() == {("gini", "score"), ("gini", "excess"), ("sparsity", "score")}
        assert len(rows) == 12
        found = cells["gini", "score"]
        assert (found["highest"], found["p"], found["p_bh"]) == ("c", 0.001, 0.002)
        # Random explanations have the same gap, so that nothing is left of it.
        assert cells["gini", "excess"]["p_bh"] > 0.05
        assert cells["sparsity", "score"]["p_bh"] > 0.05
        ranges = [found[name] for name in ("range", "shrunk_range", "range_by_chance")]
        assert ranges == sorted(ranges, reverse=True)

    def test_a_classifier_of_one_class_is_in_no_family(self, tmp_path):
        rows = self.run(tmp_path, predicted=(1, 1))
        assert all(row["flags"] == ["collapsed"] and math.isnan(row["p_bh"]) for row in rows)

    def test_the_page_names_the_worst_by_the_direction_of_the_metric(self, tmp_path):
        rows = self.run(tmp_path, random=False)
        up = worst_groups(rows, {"gini": "higher", "sparsity": "higher"}, 0.05)
        down = worst_groups(rows, {"gini": "lower", "sparsity": "higher"}, 0.05)
        assert [(line.metric, line.found, line.n_groups) for line in up] == [
            ("gini", 1, 4), ("sparsity", 0, 4),
        ]  # fmt: skip
        assert up[0].worst != "c"
        assert [down[0].worst, down[0].times, down[0].smallest] == ["c", 1, 40]
        assert up[1].worst == ""
