"""The difference of a gap between two runs, against scipy's test of Welch."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_ind_from_stats

from exparity.stats.two_runs import gap_difference

sizes = st.integers(2, 40)
spreads = st.floats(1e-3, 10)
gaps = st.floats(-3, 3)


def row(d, error, n, sd=1.0):
    values = {"d": d, "v_seeds": (error * sd) ** 2, "pooled_sd": sd, "n_seeds": n}
    return values | {"v_texts": 0.0, "v_cells": 0.0, "dof_texts": 1.0}


@given(gaps, gaps, spreads, spreads, sizes, sizes, spreads)
def test_the_interval_equals_welch(d, other, error, other_error, n, m, sd):
    def p(of_gap):
        stds = error * math.sqrt(n), other_error * math.sqrt(m)
        return ttest_ind_from_stats(of_gap, stds[0], n, other, stds[1], m, equal_var=False).pvalue

    difference = gap_difference(row(d, error, n, sd), row(other, other_error, m))
    assert difference.estimate == d - other
    for end in (difference.ci_low, difference.ci_high):  # as far from zero as from the estimate
        assert p(other + difference.estimate - end) == pytest.approx(0.05, rel=1e-6)
    assert difference.apart == (difference.ci_low > 0 or difference.ci_high < 0)


@pytest.mark.parametrize(
    "silent", [row(0.3, 0.5, 1), row(math.nan, math.nan, 3), row(0.3, 0.0, 3, sd=0.0)]
)
def test_one_training_has_no_interval(silent):
    difference = gap_difference(silent, row(0.1, 0.2, 3))
    assert math.isnan(difference.ci_low)
    assert math.isnan(difference.ci_high)
    assert not difference.apart
