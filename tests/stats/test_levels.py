"""Levels of groups: means and intervals over trainings and texts."""

import numpy as np
import pytest
from scipy import stats

from exparity.stats.levels import group_levels

pytestmark = pytest.mark.reference
ORDER = ("a", "b")


def test_the_interval_of_one_training_equals_the_t_test_over_texts():
    values = np.random.default_rng(0).normal(size=(1, 30))
    level, _ = group_levels(values, ["a"] * 20 + ["b"] * 10, ORDER)
    own = stats.ttest_1samp(values[0, :20], 0).confidence_interval(0.95)
    assert (level.n_texts, level.n_trainings) == (20, 1)
    assert (level.level, level.ci_low, level.ci_high) == pytest.approx(
        (values[0, :20].mean(), *own)
    )


def test_trainings_that_differ_widen_the_interval():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(4, 50))
    shifted = values + np.array([[-1.0], [1.0], [-1.0], [1.0]])
    alike, apart = (group_levels(each, ["a"] * 50, ["a"])[0] for each in (values, shifted))
    assert apart.level == pytest.approx(alike.level)
    assert apart.ci_high - apart.ci_low > 3 * (alike.ci_high - alike.ci_low)


def test_the_interval_covers_the_mean_of_all_trainings_and_texts():
    rng = np.random.default_rng(2)
    covered = []
    for _ in range(300):
        of_trainings, of_texts = rng.normal(size=(6, 1)), rng.normal(size=(1, 12))
        values = of_trainings + of_texts + rng.normal(size=(6, 12))
        (level,) = group_levels(values, ["a"] * 12, ["a"])
        covered.append(level.ci_low <= 0 <= level.ci_high)
    assert 0.92 <= np.mean(covered) <= 0.99


def test_undefined_values_are_left_out():
    values = np.array([[1.0, np.nan, 3.0, np.nan], [np.nan, np.nan, 3.0, np.nan]])
    a, b = group_levels(values, ["a", "a", "a", "b"], ORDER)
    assert (a.n_texts, a.n_trainings, a.level) == (2, 2, pytest.approx(7 / 3))
    assert (b.n_texts, b.n_trainings) == (0, 0)
    assert np.isnan(b.level)


def test_equal_values_have_an_interval_of_no_width():
    (level,) = group_levels(np.full((3, 5), 0.25), ["a"] * 5, ["a"])
    assert (level.level, level.ci_low, level.ci_high) == (0.25, 0.25, 0.25)
