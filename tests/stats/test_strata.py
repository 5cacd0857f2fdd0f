"""Like with like: a loop over strata, properties, and simulated texts whose lengths differ."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_ind

from exparity.stats.crossed import LEFT_OUT, NOT_COMPARABLE, crossed_tests
from exparity.stats.strata import NO_STRATUM, common_quantiles, standardised

ORDER = ("a", "b")
GROUPS = np.repeat([0, 1], 60)


def by_loop(values, is_b, strata, weights):
    """The standardised values and the groups' means, text by text."""
    common = [
        s
        for s in range(strata.max() + 1)
        if all(((is_b == g) & (strata == s)).sum() >= 5 for g in (0, 1))
    ]
    shares, means = {}, {}
    for g in (0, 1):
        total = sum(weights[(is_b == g) & (strata == s)].sum() for s in common)
        for s in common:
            chosen = (is_b == g) & (strata == s)
            shares[g, s] = weights[chosen].sum() / total
            means[g, s] = np.average(values[chosen], weights=weights[chosen])
    expected = np.full(len(values), np.nan)
    levels = [sum((shares[0, s] + shares[1, s]) / 2 * means[g, s] for s in common) for g in (0, 1)]
    plain = [sum(shares[g, s] * means[g, s] for s in common) for g in (0, 1)]
    for i, (x, g, s) in enumerate(zip(values, is_b, strata, strict=True)):
        if s in common:
            ratio = (shares[0, s] + shares[1, s]) / 2 / shares[g, s]
            expected[i] = levels[g] + ratio * (x - means[g, s]) + means[g, s] - plain[g]
    return expected, levels


@pytest.mark.reference
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_a_loop_over_strata(weighted):
    rng = np.random.default_rng(0)
    values = rng.normal(size=120)
    strata = np.r_[rng.integers(-1, 4, 60), rng.integers(-1, 3, 60)]
    weights = rng.uniform(0.2, 1, 120) if weighted else np.ones(120)
    result = standardised(values, GROUPS, strata, weights if weighted else None)
    expected, levels = by_loop(values, GROUPS, strata, weights)
    np.testing.assert_allclose(result.values, expected, rtol=0, atol=1e-12)
    for g, level in enumerate(levels):
        kept = (g == GROUPS) & np.isfinite(result.values)
        mean = np.average(result.values[kept], weights=weights[kept])
        assert mean == pytest.approx(level, abs=1e-12)
        share = result.shares[g]
        assert share == pytest.approx(weights[kept].sum() / weights[g == GROUPS].sum())


@given(st.integers(0, 2**32 - 1), st.floats(-5, 5), st.floats(0.1, 10))
def test_shift_and_scale_of_values_go_through_it(seed, shift, factor):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=120)
    strata = common_quantiles(rng.integers(3, 9, 120) + GROUPS, GROUPS)
    plain = standardised(values, GROUPS, strata).values
    changed = standardised(shift + factor * values, GROUPS, strata).values
    np.testing.assert_allclose(changed, shift + factor * plain, rtol=0, atol=1e-9)


@given(st.integers(0, 2**32 - 1))
def test_groups_with_the_same_shares_keep_every_digit(seed):
    rng = np.random.default_rng(seed)
    lengths = np.tile(rng.integers(4, 30, 60), 2)
    values = rng.normal(size=120)
    result = standardised(values, GROUPS, common_quantiles(lengths, GROUPS))
    assert np.array_equal(result.values, values)
    assert result.shares == (1.0, 1.0)


def test_a_gap_of_strata_alone_goes_away_and_one_within_strata_stays():
    lengths = np.r_[np.repeat([5, 10, 15, 20], [24, 18, 12, 6]), np.repeat([5, 10, 15, 20], 15)]
    values = 1 / lengths
    result = standardised(values, GROUPS, common_quantiles(lengths, GROUPS)).values
    means = [result[g == GROUPS].mean() for g in (0, 1)]
    assert values[GROUPS == 0].mean() - values[GROUPS == 1].mean() > 0.02
    assert means[0] == pytest.approx(means[1], abs=1e-12)
    result = standardised(values + 0.1 * GROUPS, GROUPS, common_quantiles(lengths, GROUPS)).values
    assert result[GROUPS == 1].mean() - result[GROUPS == 0].mean() == pytest.approx(0.1)


def test_quantiles_are_of_what_both_groups_have():
    lengths = np.r_[np.arange(60), np.arange(30, 90)].astype(float)
    lengths[[40, 70]] = np.nan
    strata = common_quantiles(lengths, GROUPS)
    shared = (lengths >= 30) & (lengths <= 59)
    assert np.array_equal(strata >= 0, shared)
    assert set(strata[shared]) <= {0, 1, 2, 3}
    assert (np.diff(strata[30:60][strata[30:60] >= 0]) >= 0).all()
    apart = common_quantiles(np.r_[np.full(60, 12.0), np.full(60, 24.0)], GROUPS)
    assert set(apart) == {NO_STRATUM}


def studied(a, b, lengths_a, lengths_b, sets=None, **options):
    """The test of two groups whose (s, n) scores and lengths are given."""
    groups = ["a"] * a.shape[1] + ["b"] * b.shape[1]
    covariate = np.r_[lengths_a, lengths_b].astype(float)
    scores = list(np.hstack([a, b]))
    (test,) = crossed_tests(scores, groups, ORDER, sets, covariate=covariate, **options)
    return test


def test_lengths_that_no_text_of_the_other_group_has_are_not_compared():
    rng = np.random.default_rng(1)
    a, b = rng.normal(0.84, 0.05, (3, 100)), rng.normal(0.82, 0.05, (3, 100))
    test = studied(a, b, np.full(100, 12), np.full(100, 24))
    assert NOT_COMPARABLE in test.flags
    assert test.estimate == pytest.approx(a.mean() - b.mean())
    for name in ("p_mean", "p_large", "p_small", "p_cross", "equivalence_p"):
        assert np.isnan(getattr(test, name))


def test_equal_values_are_equal_whatever_the_lengths():
    ones = np.ones((3, 40))
    test = studied(ones, ones, np.full(40, 12), np.full(40, 24))
    assert test.estimate == 0
    assert NOT_COMPARABLE not in test.flags


def test_texts_without_a_counterpart_are_left_out_and_said_so():
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(2, 2, 100))
    test = studied(a, b, rng.integers(4, 17, 100), rng.integers(8, 25, 100))
    assert test.n_a < 100
    assert test.n_b < 100
    assert LEFT_OUT in test.flags
    assert np.isfinite(test.p_mean)


def test_matched_sets_of_texts_alike_are_tested_as_without_a_covariate():
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 3, 50))
    lengths = rng.integers(4, 30, 50)
    sets = [f"s{i}" for i in range(50)] * 2
    (plain,) = crossed_tests(list(np.hstack([a, b])), ["a"] * 50 + ["b"] * 50, ORDER, sets)
    assert studied(a, b, lengths, lengths, sets) == plain


def test_a_matched_set_counts_with_both_of_its_texts():
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=(2, 3, 80))
    lengths = rng.integers(4, 20, 80)
    test = studied(a, b, lengths, lengths + rng.integers(0, 5, 80), [*range(80)] * 2)
    assert test.n_sets == test.n_a == test.n_b < 80
    assert LEFT_OUT in test.flags
    assert np.isfinite(test.p_mean)


class Texts:
    """Forward simulation of closed forms: true weights and noise of 0.7 of their spread."""

    def __init__(self):
        self.rng = np.random.default_rng(5)
        self.pools = {}

    def foreseen(self, lengths, noise):
        """Return a correlation for each length, from texts of that many words."""
        values = np.empty(len(lengths))
        for n in np.unique(lengths):
            if (n, noise) not in self.pools:
                self.pools[n, noise] = self._pool(n, noise)
            chosen = lengths == n
            values[chosen] = self.rng.choice(self.pools[n, noise], chosen.sum())
        return values

    def _pool(self, n, noise, texts=400, draws=64):
        rng = self.rng
        weights = rng.normal(0, 0.1, (texts, n))
        weights[:, :3] = 1.5 * (1 + 0.3 * rng.uniform(-1, 1, (texts, 3)))
        noisy = weights + rng.normal(size=(texts, n)) * noise * weights.std(1, keepdims=True)
        out = rng.random((texts, draws, n)).argsort(2).argsort(2) < n // 2
        falls, predicted = (np.einsum("tkn,tn->tk", out, w) for w in (weights, noisy))
        falls -= falls.mean(1, keepdims=True)
        predicted -= predicted.mean(1, keepdims=True)
        return (falls * predicted).sum(1) / np.sqrt((falls**2).sum(1) * (predicted**2).sum(1))


@pytest.fixture(scope="module")
def texts():
    return Texts()


SHORT_AND_LONG = ((4, 16), (8, 24))
"""Fewest and most words of a text of each group."""


def rates(texts, lengths, noise, runs=200, n=200):
    """The shares of studies with p ≤ 0.05: like with like, and of all texts as they are."""
    found = np.zeros((runs, 2), dtype=bool)
    for run in range(runs):
        words = [texts.rng.integers(low, high + 1, n) for low, high in lengths]
        a, b = (texts.foreseen(*each)[None] for each in zip(words, noise, strict=True))
        test = studied(a, b, *words)
        found[run] = test.p_mean <= 0.05, ttest_ind(a[0], b[0]).pvalue <= 0.05
    return found.mean(axis=0)


def test_length_alone_makes_no_gap_like_with_like(texts):
    alike, plain = rates(texts, SHORT_AND_LONG, (0.7, 0.7))
    assert plain > 0.15
    assert alike <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)


def test_nothing_is_found_in_texts_of_the_same_lengths(texts):
    alike, _ = rates(texts, ((6, 20), (6, 20)), (0.7, 0.7))
    assert alike <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)


@pytest.mark.parametrize("noise", [(0.7, 1.0), (1.0, 0.7)])
def test_noise_is_found_in_either_group(texts, noise):
    alike, _ = rates(texts, SHORT_AND_LONG, noise, runs=60)
    assert alike >= 0.8
