"""The interval of Cohen's d: by loops, how it behaves, and where it is not."""

import math

import numpy as np
import pytest
from stats.loops import cohens_d, jackknife

from exparity.stats.compare import compare_groups
from exparity.stats.jackknife import SKEWNESS_FACTOR, is_shown


def interval(values, is_first, sets=None, ddof=1, confidence=0.95):
    """Ends of the interval of d, and whether it is said that there is none."""
    groups = np.where(is_first, "male", "female")
    found = compare_groups(values, groups, pairs=sets, ddof=ddof, confidence=confidence)
    return found.d_ci_low, found.d_ci_high, "interval_none" in found.flags


def naive_interval(values, is_first, strata, ddof, confidence):
    rows = list(range(len(values)))

    def d_without(out):
        a = [values[i] for i in rows if i not in out and is_first[i]]
        b = [values[i] for i in rows if i not in out and not is_first[i]]
        return cohens_d(a, b, ddof)

    return jackknife(d_without, strata, confidence)[1:]


@pytest.mark.reference
class TestByLoops:
    @pytest.mark.parametrize("ddof", [0, 1])
    @pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
    def test_an_interval_of_matched_sets_equals_a_naive_loop(self, ddof, confidence):
        rng = np.random.default_rng(0)
        values, is_first = rng.normal(size=70) + 5, np.arange(70) < 35
        values[:35] += 0.4
        sets = np.tile(np.arange(35), 2)
        strata = [[(i, i + 35) for i in range(35)]]
        expected = naive_interval(values, is_first, strata, ddof, confidence)
        low, high, is_none = interval(values, is_first, sets, ddof, confidence)
        assert (low, high) == pytest.approx(expected, rel=1e-5)
        assert not is_none

    def test_an_interval_of_rows_equals_a_naive_loop(self):
        rng = np.random.default_rng(1)
        values, is_first = rng.normal(size=90), np.arange(90) < 32
        strata = [[(i,) for i in range(32)], [(i,) for i in range(32, 90)]]
        expected = naive_interval(values, is_first, strata, 1, 0.95)
        assert interval(values, is_first)[:2] == pytest.approx(expected, rel=1e-5)

    def test_sets_of_any_size_are_left_out_whole(self):
        rng = np.random.default_rng(2)
        sets = np.sort(rng.integers(0, 45, 160))
        is_first = rng.random(160) < 0.5
        values = rng.normal(size=160) + rng.normal(size=45)[sets]
        units = [np.flatnonzero(sets == name).tolist() for name in np.unique(sets)]
        expected = naive_interval(values, is_first, [units], 1, 0.9)
        found = interval(values, is_first, sets, confidence=0.9)
        assert found[:2] == pytest.approx(expected, rel=1e-5)


class TestIsShown:
    def test_needs_enough_values_for_their_skewness(self):
        # of n values, one 1 and the others 0: skewness (n − 2)/√(n − 1)
        one = np.arange(1000) == 0
        assert not is_shown(one * 1.0, 1000)
        few = np.arange(1000) < 100  # skewness 0.8/0.3, whose square times 25 is 178
        assert is_shown(few * 1.0, 1000)
        assert is_shown(few * 1.0, 178)
        assert not is_shown(few * 1.0, 177)
        assert SKEWNESS_FACTOR == 25

    def test_values_of_few_sets_are_few(self):
        values, is_first = np.random.default_rng(0).normal(size=120), np.arange(120) % 2 == 0
        sets = np.arange(120) // 6
        assert interval(values, is_first, sets)[2]
        assert not interval(values, is_first)[2]

    def test_a_saturated_group_has_none(self):
        # As soft sufficiency is: nearly all 1, whatever the other group is.
        rng = np.random.default_rng(1)
        for saturated in (np.ones(96), np.where(np.arange(96) < 3, 0.2, 1.0)):
            values = np.concatenate([saturated, rng.random(96)])
            for sets in (None, np.tile(np.arange(96), 2)):
                low, high, is_none = interval(values, np.arange(192) < 96, sets)
                assert is_none
                assert math.isnan(low)
                assert math.isnan(high)
