"""What a sample can show at all: against the exact tests, the noncentral t, and loops."""

import math

import numpy as np
import pytest
import scipy.stats

from exparity.stats.mean_gap import mean_gap
from exparity.stats.power import minimal_detectable_effect, planned_typical_gaps, smallest_p
from exparity.stats.typical_gap import typical_gap


@pytest.mark.reference
class TestSmallestP:
    @pytest.mark.parametrize(("n_a", "n_b"), [(2, 2), (3, 5), (6, 6), (1, 9)])
    def test_the_smallest_p_of_mann_whitney_is_that_of_groups_apart(self, n_a, n_b):
        apart = scipy.stats.mannwhitneyu(range(n_a), range(100, 100 + n_b), method="exact")
        assert smallest_p(n_a, n_b) == pytest.approx(apart.pvalue)

    @pytest.mark.parametrize("n", [2, 4, 6, 13])
    def test_the_smallest_p_of_signed_ranks_is_that_of_one_sign(self, n):
        one_sign = scipy.stats.wilcoxon(range(1, n + 1), method="exact")
        assert smallest_p(50, 60, n) == pytest.approx(one_sign.pvalue)

    def test_nothing_can_be_found_in_nothing(self):
        assert smallest_p(0, 0) == smallest_p(1, 1) == smallest_p(9, 9, 1) == smallest_p(0, 5) == 1

    def test_the_smallest_p_of_many_is_zero(self):
        assert smallest_p(600, 700) == 0  # below the smallest float


@pytest.mark.reference
class TestMinimalDetectableEffect:
    @pytest.mark.parametrize("dof", [1, 4, 9.5, 300])
    @pytest.mark.parametrize("alpha", [0.05, 0.01])
    def test_the_noncentral_t_finds_it_as_often_as_said(self, dof, alpha):
        effect = float(minimal_detectable_effect(0.3, dof, alpha=alpha))
        critical = scipy.stats.t.ppf(1 - alpha / 2, dof)
        found = scipy.stats.nct.sf(critical, dof, effect / 0.3)
        assert found == pytest.approx(0.8, abs=1e-5)

    def test_an_effect_without_error_or_freedom_is_undefined(self):
        both = minimal_detectable_effect(np.array([1.0, math.nan]), np.array([math.nan, 3.0]))
        assert np.isnan(both).all()


@pytest.mark.parametrize(
    ("seeds", "sizes"),
    [(1, (9, 9, 9)), (5, (9, 9, 1)), (5, (1, 9, 0)), (5, (0, 9, 0)), (5, (0, 0, 0))],
)
def test_nothing_can_be_planned_for_nothing(seeds, sizes):
    assert np.isnan(planned_typical_gaps([seeds], sizes)).all()


@pytest.mark.reference
@pytest.mark.parametrize(
    ("seeds", "found", "equivalent"),
    [(3, 0.80, 0.055), (5, 0.59, 0.079), (10, 0.44, 0.108), (20, 0.35, 0.132)],
)
def test_typical_gaps_that_are_found(seeds, found, equivalent):
    """Published to these digits; the second by the chi-squared of scipy, too."""
    assert planned_typical_gaps([seeds], alpha=0.001)[0] == pytest.approx([found], abs=0.005)
    (small,) = planned_typical_gaps([seeds], alpha=0.05)[1]
    assert small == pytest.approx(equivalent, abs=0.0005)
    # of trainings with that R, four in five have a sum of squares that R = 0.2 has in 5 %
    total = scipy.stats.chi2.ppf(0.05, seeds) * 0.2**2
    assert scipy.stats.chi2.cdf(total / small**2, seeds) == pytest.approx(0.8)


@pytest.mark.reference
@pytest.mark.parametrize("correlation", [pytest.param(0.0, marks=pytest.mark.exhaustive), 0.8])
def test_typical_gaps_on_few_texts_are_found_in_simulations(correlation):
    """Trainings without a mean gap; next to nothing varies within texts."""
    seeds, n, runs = 5, 400, 300
    found, equivalent = planned_typical_gaps([seeds], (n, n, n), correlation=correlation)
    rng = np.random.default_rng(5)
    for gap, name in ((found, "p_large"), (equivalent, "p_small")):
        if math.isnan(gap[0]):
            assert correlation == 0
            continue
        of_seed = float(gap[0]) * rng.normal(size=(runs, seeds, 1))
        texts = math.sqrt(2 * (1 - correlation)) * rng.normal(size=(runs, 1, n))
        made = mean_gap(of_seed + texts + 0.01 * rng.normal(size=(runs, seeds, n)))
        p = getattr(typical_gap(made), name)(0.2)
        assert (p <= 0.05).mean() == pytest.approx(0.8, abs=0.07)  # three standard errors


def test_each_number_of_trainings_is_by_itself():
    found, equivalent = planned_typical_gaps([3, 5, 20], (2000,) * 3)
    for i, seeds in enumerate((3, 5, 20)):
        alone = planned_typical_gaps([seeds], (2000,) * 3)
        np.testing.assert_allclose((found[i : i + 1], equivalent[i : i + 1]), alone)
    # no number of trainings shows on few texts that there is no gap
    assert np.isnan(planned_typical_gaps([3, 32], (12, 12, 12))[1]).all()
