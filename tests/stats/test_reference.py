"""Group statistics against loops in float64, numbers by hand, and scipy called directly."""

import math

import numpy as np
import pytest
from stats import loops

from exparity.stats.compare import compare_groups
from exparity.stats.effect import d_z, rank_biserial

pytestmark = pytest.mark.reference

# Dyadic numbers, whose sums are exact; the last are tied, tiny and degenerate.
SAMPLES = {
    "untied": ([1.5, 2.25, 7.0, -3.5], [0.5, 9.25, 4.75, 8.0, -1.0]),
    "apart": ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]),
    "tied": ([1.0, 1.0, 2.0, 3.0, 3.0], [1.0, 3.0, 3.0, 3.0]),
    "tiny": ([1.0, 2.0], [1.0, 4.0]),
    "two values": ([0.0, 1.0, 0.0, 0.0, 1.0], [1.0, 1.0, 0.0, 1.0]),
    "one group constant": ([2.0, 2.0, 2.0], [1.0, 2.0, 5.0]),
    "equal groups": ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]),
    "small scale": ([1e-9, 3e-9, 2e-9], [5e-9, 2.5e-9, 1e-8]),
    "far from zero": ([1e6 + 1, 1e6 + 2, 1e6 + 4], [1e6 + 2.5, 1e6 + 8, 1e6 + 16]),
}
NAMES = sorted(SAMPLES)


def groups_of(a, b):
    return ["male"] * len(a) + ["female"] * len(b)


def compared(a, b, **options):
    return compare_groups([*a, *b], groups_of(a, b), **{"resamples": 0, **options})


class TestByHand:
    def test_a_comparison_of_three_and_three_is_that_worked_out_by_hand(self):
        # Means 2 and 5, variances 1 and 1: d = −3/1. No value of the first beats any of the
        # second: U = 0, r = −1, and 2 of the 20 splits are as extreme: p = 0.1.
        found = compared([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
        assert (found.mean_a, found.mean_b, found.mean_difference) == (2.0, 5.0, -3.0)
        assert (found.sd_a, found.sd_b) == (1.0, 1.0)
        assert (found.n_a, found.n_b, found.n_examples, found.n_undefined) == (3, 3, 6, 0)
        assert (found.U, found.rank_biserial, found.direction) == (0.0, -1.0, -1)
        assert found.p == pytest.approx(0.1, rel=1e-12)
        assert found.cohens_d == -3.0
        assert (found.significant, found.considerable) == (False, True)
        assert found.flags == ["cannot_pass"]

    @pytest.mark.parametrize(("alpha", "significant"), [(0.09, False), (0.1, True), (0.11, True)])
    def test_significant_from_alpha_on(self, alpha, significant):
        assert compared([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], alpha=alpha).significant is significant

    @pytest.mark.parametrize(
        ("threshold", "considerable"), [(2.99, True), (3.0, True), (3.01, False)]
    )
    def test_considerable_from_the_threshold_on_in_either_direction(self, threshold, considerable):
        a, b = [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]
        assert compared(a, b, threshold=threshold).considerable is considerable
        assert compared(b, a, threshold=threshold).considerable is considerable

    def test_statistics_of_pairs_are_those_worked_out_by_hand(self):
        # Differences 1, 2, 3: mean 2, sd 1, d_z = 2; all positive: p = 2/2³.
        found = compared([2.0, 4.0, 6.0], [1.0, 2.0, 3.0], pairs=[*"abc", *"abc"])
        assert (found.n_pairs, found.d_z) == (3, 2.0)
        assert found.wilcoxon_p == pytest.approx(0.25, rel=1e-12)

    def test_a_set_with_several_values_of_a_group_counts_once_with_its_mean(self):
        # a: (1+3)/2 − 1 = 1; b: 4 − (1+3)/2 = 2; c: 3 − 0 = 3; d has one group only.
        values = [1.0, 3.0, 4.0, 3.0, 1.0, 1.0, 3.0, 0.0, 9.0]
        groups = ["male"] * 4 + ["female"] * 5
        found = compare_groups(values, groups, pairs=[*"aabc", *"abbcd"], resamples=0)
        assert (found.n_pairs, found.d_z) == (3, 2.0)

    def test_rank_biserial_runs_from_minus_one_to_one(self):
        assert [rank_biserial(u, 2, 4) for u in (0, 2, 4, 8)] == [-1.0, -0.5, 0.0, 1.0]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ddof", [0, 1])
def test_cohens_d_equals_naive_loops(name, ddof):
    a, b = SAMPLES[name]
    # Two-pass sums of a dozen numbers differ by a few units in the last place; values near
    # 1e6 with spread 10 lose five more digits.
    expected = loops.cohens_d(a, b, ddof)
    assert compared(a, b, ddof=ddof).cohens_d == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_d_z_without_variance():
    assert d_z(np.array([1.0, 1.0])) == math.inf
    assert d_z(np.array([-1.0, -1.0])) == -math.inf
    assert math.isnan(d_z(np.array([0.0, 0.0])))
    assert d_z(np.full(3, 0.1)) == math.inf  # their mean is not 0.1 in floating point
