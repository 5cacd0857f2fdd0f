"""Intervals of means against scipy's bootstrap, and against many resamples where none is drawn."""

import warnings

import numpy as np
import pytest
from scipy.stats import bootstrap

from exparity.stats import bootstrap as module
from exparity.stats.bootstrap import (
    LARGE,
    Draws,
    Mean,
    Sample,
    accelerated_interval,
    percentile_interval,
)


def plain(values, sign=1):
    return Sample(Mean(values, np.ones(len(values))), sign=sign)


def of_sets(rng, m):
    """Sets with up to three rows of the first group, and one or two of the second."""
    first, second = rng.integers(0, 4, m).astype(float), rng.integers(1, 3, m).astype(float)
    first[:2] = 1
    sums = rng.beta(3, 0.3, m) * first, rng.beta(2, 0.5, m) * second
    return Sample(Mean(sums[0], first), Mean(sums[1], second))


def scipys(data, statistic, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ends = bootstrap(data, statistic, batch=200, vectorized=True, n_resamples=500,
                         rng=np.random.default_rng(7), **options).confidence_interval  # fmt: skip
    return ends.low, ends.high


@pytest.mark.reference
@pytest.mark.parametrize("n", [2, 5, 50, LARGE - 1])
class TestSmall:
    def test_two_groups_of_rows(self, n):
        rng = np.random.default_rng(n)
        a, b = rng.beta(3, 0.3, n), rng.beta(2, 0.5, n + 3)
        expected = scipys((a, b), lambda a, b, axis: a.mean(axis) - b.mean(axis))
        found = accelerated_interval(
            [plain(a), plain(b, -1)], Draws(resamples=500), np.random.default_rng(7)
        )
        assert found[:2] == pytest.approx(expected, rel=1e-9)
        assert found[2] == ()

    def test_an_interval_of_matched_sets_equals_a_naive_loop(self, n):
        sample = of_sets(np.random.default_rng(n), n)
        data = *sample.plus, *sample.minus

        def gap(*columns, axis):
            total_a, n_a, total_b, n_b = (column.sum(axis) for column in columns)
            return total_a / n_a - total_b / n_b

        rng = np.random.default_rng(7)
        found = accelerated_interval([sample], Draws(resamples=500), rng)
        assert found[:2] == pytest.approx(scipys(data, gap, paired=True), rel=1e-9, nan_ok=True)


def rare(rng):
    """One of 150 is another value: resamples of their mean are skewed."""
    return plain((rng.random(2 * LARGE) < 1 / 150) * 1.0)


def several_rows(rng):
    counts = 1.0 + rng.poisson(2, LARGE)
    return Sample(Mean(rng.gamma(1, 1, LARGE) * counts**2, counts))


SAMPLES = {
    "rows": lambda rng: [plain(rng.beta(5, 0.3, LARGE)), plain(rng.beta(5, 0.3, LARGE), -1)],
    "rare": lambda rng: [rare(rng)],
    "sets": lambda rng: [of_sets(rng, LARGE)],
    "several rows": lambda rng: [several_rows(rng)],
}


@pytest.mark.reference
@pytest.mark.parametrize("kind", SAMPLES)
def test_cumulants_give_the_interval_of_many_resamples(kind, monkeypatch):
    samples = SAMPLES[kind](np.random.default_rng(1))
    found = {
        "accelerated": accelerated_interval(samples, Draws(), None)[:2],  # nothing is drawn
        "percentile": percentile_interval(samples, Draws(), None),
    }
    monkeypatch.setattr(module, "LARGE", 10 * LARGE)
    draws = Draws(resamples=20_000)
    expected = {
        "accelerated": accelerated_interval(samples, draws, np.random.default_rng(0))[:2],
        "percentile": percentile_interval(samples, draws, np.random.default_rng(0)),
    }
    for name, (low, high) in expected.items():
        # 2,000 resamples move an end by 2 to 4 % of the width.
        assert found[name] == pytest.approx((low, high), abs=0.03 * (high - low)), name


def test_what_is_too_skewed_for_cumulants_is_resampled():
    values = np.zeros(2 * LARGE)
    values[0] = 1.0
    low, high, _ = accelerated_interval([plain(values)], Draws(), np.random.default_rng(0))
    assert low == 0
    assert high * len(values) == pytest.approx(round(high * len(values)))  # a whole number of hits


def test_equal_values_have_an_interval_of_no_width():
    for n in (5, LARGE):
        sample = plain(np.full(n, 0.25))
        rng = np.random.default_rng(0) if n < LARGE else None  # nothing is drawn
        found = accelerated_interval([sample], Draws(resamples=50), rng)
        assert found == (0.25, 0.25, ("interval_percentile",))
