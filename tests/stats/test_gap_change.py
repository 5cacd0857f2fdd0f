"""The change of |d|: against a naive loop, its invariances, its level, and planted changes."""

import math
from dataclasses import asdict
from functools import partial

import numpy as np
import pytest
from scipy import stats
from stats.loops import cohens_d, jackknife

from exparity.core.settings import DEFAULTS, Statistics
from exparity.stats.behrens_fisher import critical_value, two_sided_p
from exparity.stats.gap_change import gap_changes
from exparity.stats.mean_gap import Estimate, mean_gap
from exparity.stats.samples import GroupedTexts
from exparity.stats.typical_gap import typical_gap

ORDER = ("a", "b")


def drawn(rng, seeds=3, n=40, gap=0.0, base_gap=0.0, shared=0.5):
    """Scores of two models, (2, s, 2n), of n sets of two; their texts have something in common."""
    texts = rng.normal(size=(2, 1, 2 * n)) * math.sqrt(shared)
    values = texts + rng.normal(size=(2, seeds, 2 * n)) * math.sqrt(1 - shared)
    values[0, :, ::2] += gap
    values[1, :, ::2] += base_gap
    return values


def named(n, matched=True):
    return list(ORDER) * n, [str(i) for i in range(n) for _ in ORDER] if matched else None


def changed(values, matched=True, **options):
    groups, sets = named(values.shape[-1] // 2, matched)
    texts = GroupedTexts.of(groups, ORDER, sets)
    (changes,) = gap_changes(values[0], values[1], texts, Statistics(**options))
    return changes


def naive_d(rows):
    """Cohen's d of (group, score) rows."""
    return cohens_d(*([score for group, score in rows if group == g] for g in ORDER))


def of_sizes(d, base_d):
    return abs(d) - abs(base_d)


def naive_change(values, base, groups, out, change=of_sizes):
    """The change of |d| without some rows."""
    kept = [i for i in range(len(groups)) if i not in out]
    d, base_d = (naive_d([(groups[i], float(one[i])) for i in kept]) for one in (values, base))
    return change(d, base_d)


class TestOfOneTraining:
    @pytest.mark.parametrize("matched", [True, False])
    def test_a_change_equals_a_naive_loop(self, matched):
        values = drawn(np.random.default_rng(1), seeds=1, n=32, gap=0.9, base_gap=-0.6)
        (own,) = changed(values, matched).by_training
        groups, _ = named(32, matched)
        strata = [[(i,) for i in range(64) if groups[i] == g] for g in ORDER]
        if matched:
            strata = [[(i, i + 1) for i in range(0, 64, 2)]]
        expected = jackknife(partial(naive_change, values[0, 0], values[1, 0], groups), strata)
        assert (own.change, own.ci_low, own.ci_high) == pytest.approx(expected, rel=1e-5)
        assert own.d == pytest.approx(naive_d(list(zip(groups, values[0, 0], strict=True))))
        assert own.base_d < 0 < own.base_absolute_d == -own.base_d
        assert (own.n_seeds, own.n_a, own.n_b, own.n_sets) == (1, 32, 32, 32 * matched)

    def test_only_examples_that_both_models_have_count(self):
        values = drawn(np.random.default_rng(3), seeds=1, n=40, gap=0.5)
        cut = values.copy()
        cut[0, 0, 3], cut[1, 0, 10] = math.nan, math.nan
        (own,) = changed(cut, matched=False).by_training
        kept = np.delete(np.arange(80), [3, 10])
        texts = GroupedTexts.of([ORDER[i % 2] for i in kept], ORDER, None)
        (expected,) = gap_changes(values[0][:, kept], values[1][:, kept], texts, DEFAULTS)
        assert asdict(own) == asdict(expected.by_training[0])
        assert (own.n_a, own.n_b) == (39, 39)

    @pytest.mark.parametrize(
        ("spoil", "flag"),
        [
            (lambda x: x[0].fill(1.0), "constant"),
            (lambda x: x[1, :, ::2].fill(math.nan), "too_few"),
            (lambda x: x[0, 0].put(range(80), [0.0, 1.0] * 40), "no_variance"),
        ],
    )
    def test_nothing_where_nothing_can_be_said(self, spoil, flag):
        values = drawn(np.random.default_rng(4), seeds=1)
        spoil(values)
        changes = changed(values)
        assert changes.by_training[0].flags == changes.over_trainings.flags == [flag]
        assert math.isnan(changes.by_training[0].change + changes.over_trainings.change)
        assert changes.over_trainings.n_seeds == 0

    def test_no_interval_of_few_or_skewed_scores(self):
        rng = np.random.default_rng(5)
        assert math.isnan(changed(drawn(rng, seeds=1, n=29)).by_training[0].ci_low)
        assert math.isfinite(changed(drawn(rng, seeds=1, n=30)).by_training[0].ci_low)
        skewed = np.exp(2 * drawn(rng, seeds=1, n=60))
        assert math.isnan(changed(skewed).by_training[0].ci_low)


class TestOverTrainings:
    @pytest.mark.parametrize("matched", [True, False])
    def test_the_mean_change_and_its_error(self, matched):
        values = drawn(np.random.default_rng(6), seeds=4, n=40, gap=0.8, base_gap=0.4)
        by_training, over = changed(values, matched)
        changes = [one.change for one in by_training]
        assert over.change == pytest.approx(np.mean(changes))
        assert (over.n_seeds, over.flags) == (4, [])
        # What varies between trainings is in it, and the texts are beside.
        assert over.standard_error**2 >= np.var(changes, ddof=1) / 4 * (1 - 1e-9)
        parts = (over.v_seeds, over.v_texts, over.v_cells, 4, over.dof_texts)
        estimate = Estimate(*(np.asarray(part, dtype=float) for part in (over.change, *parts)))
        assert over.p_mean == pytest.approx(float(two_sided_p(estimate.gap, estimate.errors)))
        half = float(critical_value(0.05, estimate.errors))
        assert (over.ci_low, over.ci_high) == pytest.approx(
            (over.change - half, over.change + half)
        )
        # the typical change is in units of d, as the change is
        typical = typical_gap(estimate)
        assert over.rms_gap == pytest.approx(float(typical.rms))
        assert over.p_large == pytest.approx(float(typical.p_large(0.2)))

    def test_the_formula_on_the_contributions_of_a_naive_jackknife(self):
        values = drawn(np.random.default_rng(8), seeds=3, n=12, gap=2.5, base_gap=-1.8)

        def crossed_of(of):
            cells = np.empty((3, 12))
            for s in range(3):
                change = partial(naive_change, values[0, s], values[1, s], named(12)[0], change=of)
                left_out = [change(out={2 * i, 2 * i + 1}) for i in range(12)]
                mean = sum(left_out) / 12
                cells[s] = [change(out=()) + 11 * (mean - one) for one in left_out]
            return mean_gap(cells)

        crossed = crossed_of(of_sizes)
        over = changed(values, threshold=3.0).over_trainings
        # A change is small where that of d is, or the sum of both.
        linear = [crossed_of(lambda d, base_d, sign=sign: d + sign * base_d) for sign in (1, -1)]
        bounds = [float(typical_gap(one).p_small(3.0)) for one in linear]
        assert over.p_small == pytest.approx(min(1, 2 * min(bounds)), rel=1e-4)
        assert over.p_small < 1
        assert over.change == pytest.approx(float(crossed.gap))
        assert over.standard_error == pytest.approx(float(crossed.errors.standard_error))
        assert over.dof_texts == pytest.approx(float(crossed.dof_texts))
        assert over.v_seeds == pytest.approx(float(crossed.v_seeds))

    def test_one_training_is_not_tested(self):
        over = changed(drawn(np.random.default_rng(9), seeds=1)).over_trainings
        assert over.flags == ["one_training"]
        assert math.isfinite(over.change)
        assert math.isnan(over.p_mean)

    def test_a_training_without_scores_is_left_out(self):
        values = drawn(np.random.default_rng(10), seeds=4)
        cut = values.copy()
        cut[0, 2] = math.nan
        assert changed(cut).over_trainings == changed(np.delete(values, 2, axis=1)).over_trainings

    def test_trainings_in_which_no_text_can_be_left_out_are_not_tested(self):
        values = drawn(np.random.default_rng(10), seeds=3, n=4)
        values[:, 1:, 4:] = math.nan  # of two values of a group, one alone has no variance
        over = changed(values, matched=False).over_trainings
        assert (over.n_seeds, over.flags) == (3, ["missing_cells", "one_training"])
        assert math.isnan(over.p_mean)

    def test_no_change_at_all(self):
        values = drawn(np.random.default_rng(12))
        values[0] = values[1]
        over = changed(values).over_trainings
        assert (over.change, over.flags) == (0.0, ["no_change"])
        assert (over.p_mean, over.p_small) == (1.0, 0.0)  # which is equivalent


@pytest.mark.parametrize("sign", [1, -1])
def test_a_planted_change_is_found_with_its_size(sign):
    rng = np.random.default_rng(13)
    values = drawn(rng, seeds=5, n=200, gap=sign * 0.2, base_gap=0.9)
    by_training, over = changed(values)
    assert over.p_mean < 0.001
    assert over.ci_low <= -0.7 <= over.ci_high
    assert all(one.ci_high < 0 for one in by_training)
    assert np.sign(over.d) == sign


def test_equal_gaps_are_equivalent_where_there_is_enough_to_see_it():
    values = drawn(np.random.default_rng(14), seeds=5, n=2000, gap=0.5, base_gap=-0.5)
    assert changed(values).over_trainings.equivalence_p < 0.05


def test_a_change_at_the_threshold_is_seldom_called_small():
    """Noise pulls |d| together where a gap is small: of 0 and 0.2 it shows less than 0.2."""
    rng, hits, times = np.random.default_rng(16), 0, 30
    for _ in range(times):
        values = drawn(rng, seeds=5, n=60, gap=0.0, base_gap=0.2)
        hits += changed(values).over_trainings.p_small <= 0.05
    assert hits <= stats.binom.ppf(0.999, times, 0.05)
