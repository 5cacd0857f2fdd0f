"""Adjusted gaps: least squares by loops, their edges, and what they do to a confounder."""

import math

import numpy as np
import pytest
import scipy.stats

from exparity.stats.adjusted import adjusted_gaps
from exparity.stats.rank_tests import mann_whitney
from exparity.stats.samples import GroupedTexts

ORDER = ("m", "f")


def one(values, groups, pairs=None, **covariates):
    covariates = {name: np.asarray(column) for name, column in covariates.items()}
    texts = GroupedTexts.of(groups, ORDER, pairs)
    (gap,) = adjusted_gaps(np.asarray(values, dtype=float), texts, covariates=covariates)
    return gap


def naive(values, regressors, clusters=None):
    """The first coefficient, its HC3 standard error and degrees of freedom, by loops."""
    x, y = np.asarray(regressors, dtype=float), np.asarray(values, dtype=float)
    inverse = np.linalg.inv(x.T @ x)
    beta = np.linalg.lstsq(x, y, rcond=None)[0]
    clusters = list(range(len(y))) if clusters is None else list(clusters)
    middle = np.zeros((x.shape[1], x.shape[1]))
    for cluster in sorted(set(clusters)):
        score = np.zeros(x.shape[1])
        for i in range(len(y)):
            if clusters[i] == cluster:
                leverage = x[i] @ inverse @ x[i]
                score += x[i] * (y[i] - x[i] @ beta) / (1 - leverage)
        middle += np.outer(score, score)
    variance = inverse @ middle @ inverse
    return beta[0], math.sqrt(variance[0, 0]), len(set(clusters)) - x.shape[1]


def agrees(gap, estimate, error, freedom):
    """Whether a gap has this estimate and error, and the t-test and interval that follow."""
    reach = scipy.stats.t.ppf(0.975, freedom) * error
    p = 2 * scipy.stats.t.sf(abs(estimate) / error, freedom)
    found = (gap.estimate, gap.standard_error, gap.p, gap.low, gap.high)
    assert found == pytest.approx(
        (estimate, error, p, estimate - reach, estimate + reach), rel=1e-8, abs=1e-12
    )
    assert gap.flags == ()


def matched(rng, n):
    """Values, groups, sets, classes and lengths of n pairs in mixed order."""
    order = rng.permutation(2 * n)
    groups, sets = np.array([*"mf"] * n), np.repeat(np.arange(n), 2).astype(str)
    lengths = rng.integers(3, 30, 2 * n)
    classes = rng.integers(0, 3, 2 * n)
    values = rng.normal(size=2 * n) + 0.1 * lengths + classes
    return tuple(column[order] for column in (values, groups, sets, classes, lengths))


@pytest.mark.reference
class TestByLoops:
    def test_gaps_of_matched_sets_equal_least_squares(self):
        values, groups, sets, classes, lengths = matched(np.random.default_rng(0), 25)
        of = {(s, g): i for i, (s, g) in enumerate(zip(sets, groups, strict=True))}
        gaps, of_length, of_class = [], [], []
        for name in sorted(set(sets)):
            a, b = of[name, "m"], of[name, "f"]
            gaps.append(values[a] - values[b])
            of_length.append([1.0, lengths[a] - lengths[b]])
            indicators = [(classes[a] == c) * 1.0 - (classes[b] == c) for c in (0, 2)]
            of_class.append([1.0, *indicators])  # which class is left out does not matter
        gap = one(values, groups, sets, length=lengths)
        agrees(gap, *naive(gaps, of_length))
        agrees(one(values, groups, sets, **{"class": classes}), *naive(gaps, of_class))

    def test_several_values_of_a_group_in_a_set_count_as_their_mean(self):
        values = [1.0, 3.0, 0.5, 2.0, 1.0, 4.0, 3.0, 2.5, 0.0]
        groups = [*"mmfmfmfmf"]
        sets = [*"aaabbccdd"]
        lengths = [4, 6, 2, 5, 5, 9, 3, 1, 4]
        gaps = [2.0 - 0.5, 2.0 - 1.0, 4.0 - 3.0, 2.5 - 0.0]
        others = [[1, 5 - 2], [1, 5 - 5], [1, 9 - 3], [1, 1 - 4]]
        agrees(one(values, groups, sets, length=lengths), *naive(gaps, others))

    def test_a_gap_at_equal_length_equals_least_squares(self):
        rng = np.random.default_rng(2)
        values, lengths = rng.normal(size=60), rng.uniform(3, 40, 60)
        is_first = np.arange(60) < 22
        x = np.column_stack([is_first, np.ones(60), lengths])
        gap = one(values, np.where(is_first, "m", "f"), length=lengths)
        agrees(gap, *naive(values, x))

    def test_sets_of_one_group_are_clusters(self):
        rng = np.random.default_rng(3)
        sets = np.repeat(np.arange(20), 3)
        is_first, lengths = sets < 9, rng.integers(3, 30, 60)
        values = rng.normal(size=60) + rng.normal(size=20)[sets]
        x = np.column_stack([is_first, np.ones(60), lengths])
        gap = one(values, np.where(is_first, "m", "f"), sets.astype(str), length=lengths)
        agrees(gap, *naive(values, x, sets))
        alone = one(values, np.where(is_first, "m", "f"), length=lengths)
        assert alone.estimate == pytest.approx(gap.estimate)
        assert gap.standard_error > 1.1 * alone.standard_error  # members of a set go together

    def test_class_of_rows_is_the_mean_of_welchs_tests(self):
        rng = np.random.default_rng(4)
        classes, is_first = rng.integers(0, 2, 80), rng.random(80) < 0.4
        values = rng.normal(size=80) * (1 + classes) + classes
        gaps, parts = [], []
        for c in (0, 1):
            a, b = (values[(classes == c) & mask] for mask in (is_first, ~is_first))
            gaps.append(a.mean() - b.mean())
            parts += [(np.var(x, ddof=1) / len(x) / 4, len(x) - 1) for x in (a, b)]
        total = sum(variance for variance, _ in parts)
        freedom = total**2 / sum(variance**2 / df for variance, df in parts)
        gap = one(values, np.where(is_first, "m", "f"), **{"class": classes})
        agrees(gap, sum(gaps) / 2, math.sqrt(total), freedom)


class TestEdges:
    def test_label_equal_to_group_is_not_estimable(self):
        rng = np.random.default_rng(0)
        groups, values = [*"mf"] * 15, rng.normal(size=30)
        labels = [int(g == "m") for g in groups]
        for pairs in (None, [str(i // 2) for i in range(30)]):
            gap = one(values, groups, pairs, **{"class": labels})
            assert gap.flags == ("not_estimable",)
            assert math.isnan(gap.estimate)
            assert math.isnan(gap.p)

    def test_classes_of_one_group_are_left_out_and_flagged(self):
        values = [1.0, 2.0, 4.0, 3.0, 5.0, 9.0, 9.5]
        classes = [0, 0, 0, 0, 0, 1, 1]
        gap = one(values, [*"mmmffmm"], **{"class": classes})
        assert gap.flags == ("classes_left_out",)
        assert gap.estimate == pytest.approx(7 / 3 - 4)

    @pytest.mark.parametrize("covariate", ["class", "length"])
    @pytest.mark.parametrize("paired", [True, False])
    def test_constant_values_have_no_variance(self, covariate, paired):
        covariates = {covariate: [0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 0]}
        pairs = [str(i // 2) for i in range(12)] if paired else None
        gap = one([0.1] * 12, [*"mf"] * 6, pairs, **covariates)
        assert gap.flags == ("no_variance",)
        assert (gap.estimate, gap.standard_error) == (0.0, 0.0)
        assert math.isnan(gap.p)

    @pytest.mark.parametrize("covariate", ["class", "length"])
    @pytest.mark.parametrize("paired", [True, False])
    def test_too_few_values_have_no_gap(self, covariate, paired):
        pairs = ["a", "a"] if paired else None
        gap = one([1.0, 2.0], [*"mf"], pairs, **{covariate: [0, 1]})
        assert gap.flags[0] in ("too_few", "not_estimable")
        assert math.isnan(gap.estimate)
        empty = one([math.nan] * 2, [*"mf"], pairs, **{covariate: [0, 1]})
        assert empty.flags == ("too_few",)


@pytest.mark.property
def test_a_class_that_groups_have_other_shares_of_is_no_gap():
    """As COMPAS: 235 women, of whom 36 % are of class 1, and 999 men, of whom 48 % are."""
    rng, runs = np.random.default_rng(0), 400  # a rate of 5 % has a standard error of 1.1 points
    groups = ["m"] * 999 + ["f"] * 235
    raw, adjusted, planted = [], [], []
    for _ in range(runs):
        classes = np.concatenate([rng.random(999) < 0.48, rng.random(235) < 0.36]) * 1
        values = rng.exponential(size=1234) + 1.0 * classes
        raw.append(mann_whitney(values[:999], values[999:])[1] <= 0.05)
        gap = one(values, groups, **{"class": classes})
        adjusted.append(gap.p <= 0.05)
        shifted = one(values + 0.3 * (np.arange(1234) < 999), groups, **{"class": classes})
        planted.append((shifted.low <= 0.3 <= shifted.high, shifted.p <= 0.05))
    assert np.mean(raw) > 0.3
    assert 0.02 <= np.mean(adjusted) <= 0.085
    covered, found = np.mean(planted, axis=0)
    assert 0.92 <= covered <= 0.98
    assert found > 0.9


class TestLeverage:
    """A gap that one pair decides."""

    def pair_far_off(self, n, distance):
        rng = np.random.default_rng(4)
        lengths = np.concatenate([rng.normal(size=2 * n)])
        lengths[0] += distance
        scores = np.clip(0.5 + 0.1 * rng.normal(size=2 * n), 0, 1)
        return scores, ["m"] * n + ["f"] * n, [str(i) for i in range(n)] * 2, lengths

    @pytest.mark.parametrize(
        ("distance", "flags", "is_shown"),
        [(0.0, (), True), (20.0, ("leverage",), True), (1e4, ("leverage",), False)],
    )
    def test_a_pair_that_the_fit_must_pass_through_is_no_evidence(self, distance, flags, is_shown):
        scores, groups, pairs, lengths = self.pair_far_off(6, distance)
        gap = one(scores, groups, pairs, length=lengths)
        assert gap.flags == flags
        shown = [math.isfinite(x) for x in (gap.estimate, gap.standard_error, gap.p, gap.low)]
        assert shown == [is_shown] * 4

    def test_no_gap_is_larger_than_the_metric_allows(self):
        # the covariate differs by about 10 within pairs: without a difference is far outside
        differences = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
        lengths = [*(10 + differences), *np.zeros(5)]
        scores, groups = [*differences, *np.zeros(5)], ["m"] * 5 + ["f"] * 5
        pairs = [*"abcde"] * 2
        noisy = np.array(scores) + np.array([0.01, -0.01, 0.0, 0.01, -0.01, 0, 0, 0, 0, 0])
        assert one(noisy, groups, pairs, length=lengths).estimate < -5
        (gap,) = adjusted_gaps(
            noisy,
            GroupedTexts.of(groups, ORDER, pairs),
            covariates={"length": np.array(lengths)},
            bounds=(-1.0, 1.0),
        )
        assert gap.flags == ("out_of_range",)
        assert math.isnan(gap.estimate)
        assert math.isnan(gap.p)

    @pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 0, 2, 1), (2, 1, 0, 3), (1, 3, 2, 0)])
    def test_at_the_bound_the_order_of_rows_does_not_decide(self, order):
        """Lengths 2 and 0 beside 0 and 1: the first has a leverage of 1/2 + 1/2.5 = 0.9."""
        groups, lengths = np.array([*"mmff"])[[*order]], np.array([2, 0, 0, 1])[[*order]]
        assert "leverage" not in one([0.0] * 4, groups, length=lengths).flags

    def test_the_only_one_of_its_class_is_no_such_value(self):
        scores, groups, pairs, _ = self.pair_far_off(6, 0.0)
        gap = one(scores, groups, pairs, **{"class": [1, *[0] * 11]})
        assert gap.flags == ()
        assert math.isfinite(gap.p)
