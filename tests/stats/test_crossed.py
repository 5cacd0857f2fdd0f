"""The crossed test: its formulas, what leaves it as it is, degenerate input, and its error rate."""

import dataclasses
import itertools
import math
from functools import partial

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
from hypothesis import given
from scipy.special import stdtrit
from stats import loops
from stats.drawn import GROUPS, scores

from exparity.core.settings import DEFAULTS
from exparity.stats.crossed import (
    CrossedTest,
    GapTest,
    crossed_gaps,
    crossed_gaps_of_many,
    crossed_tests,
    mean_gaps,
)
from exparity.stats.samples import GroupedTexts
from exparity.stats.skill import of_constant

NAN = math.nan
ORDER = ("m", "f")
TESTED = tuple(one.name for one in dataclasses.fields(GapTest))
OF_TRAININGS = TESTED[TESTED.index("rms_gap") :]


def paired_scores(rng, seeds, sets, *, gap=0.0):
    """(s, 2n) scores of n matched sets, the first group's first, and their groups and sets."""
    of_text = rng.normal(size=sets) + 0.5 * rng.normal(size=(2, sets))
    of_seed = 0.5 * rng.normal(size=(seeds, 1))
    values = of_text + rng.normal(size=(seeds, 2, sets))
    values[:, 0] += gap + of_seed
    rows = [*values.reshape(seeds, 2 * sets)]
    return rows, ["m"] * sets + ["f"] * sets, [str(i) for i in range(sets)] * 2


def unpaired_scores(rng, seeds, n_a, n_b):
    values = rng.normal(size=n_a + n_b) + rng.normal(size=(seeds, n_a + n_b))
    values[:, :n_a] += 0.5 * rng.normal(size=(seeds, 1))
    return [*values], ["m"] * n_a + ["f"] * n_b


def cell(rows, groups, pairs=None):
    """What the loops say of (s, n) scores of two groups, each a text or one of its set."""
    units = pairs or range(len(groups))
    first, second = (
        {
            s: {u: float(x) for u, g, x in zip(units, groups, row, strict=True) if g == group}
            for s, row in enumerate(rows)
        }
        for group in ORDER
    )
    return loops.cell_of(first, second, paired=pairs is not None)


def check(test: CrossedTest, cell):
    """Compare a test with what follows from the mean squares and the spread within groups."""
    estimate, sd, tail = cell["estimate"], cell["pooled_sd"], partial(loops.upper_tail, cell)
    for name in ("estimate", "v_seeds", "v_texts", "v_cells", "dof_texts", "pooled_sd"):
        assert getattr(test, name) == pytest.approx(cell[name], rel=1e-9, abs=1e-12), name
    assert test.standard_error == pytest.approx(math.sqrt(sum(loops.variances_of(cell))), rel=1e-9)
    assert test.d == pytest.approx(estimate / sd, rel=1e-9)
    assert test.p_mean == pytest.approx(2 * tail(abs(estimate)), rel=1e-6)
    assert (test.ci_low + test.ci_high) / 2 == pytest.approx(estimate, abs=1e-9)
    assert 2 * tail((test.ci_high - test.ci_low) / 2) == pytest.approx(0.1, rel=1e-5)
    assert test.equivalence_p == pytest.approx(tail(0.3 * sd - abs(estimate)), rel=1e-6)
    # the t-test with the same critical value and error finds the detectable effect; with a single
    # degree of freedom each, the sum of two may need fewer, and the error is the larger
    error = test.standard_error
    effect = test.minimal_detectable_effect * sd / error
    critical = critical_of(tail, 0.01) / error
    dof, wider = 1.0, max(1.0, critical / scipy.stats.t(1).ppf(0.995))
    if wider == 1:
        dof = scipy.optimize.brentq(lambda dof: stdtrit(dof, 0.995) - critical, 1, 1e6)
    found = scipy.stats.nct.sf(critical / wider, dof, effect / wider)
    assert found == pytest.approx(0.8, abs=1e-4)
    assert test.p_cross == pytest.approx(loops.p_cross(cell), rel=1e-7)
    for name in OF_TRAININGS:
        assert math.isfinite(getattr(test, name)), name


def critical_of(tail, level):
    """The size that is exceeded on both sides together with a probability."""
    return scipy.optimize.brentq(lambda x: 2 * tail(x) / level - 1, 1e-3, 1e4, xtol=1e-6)


OPTIONS = {"alpha": 0.01, "threshold": 0.3, "confidence": 0.9}


@pytest.mark.reference
class TestFormulas:
    @pytest.mark.parametrize("sets", [2, 3, 17])
    @pytest.mark.parametrize("seeds", [2, 3, 5])
    def test_a_test_of_matched_sets_equals_naive_loops(self, seeds, sets):
        rng = np.random.default_rng([seeds, sets])
        rows, groups, pairs = paired_scores(rng, seeds, sets, gap=0.3)
        (test,) = crossed_tests(rows, groups, ORDER, pairs, **OPTIONS)
        check(test, cell(rows, groups, pairs))
        assert (test.n_seeds, test.n_sets, test.n_a, test.n_b) == (seeds, sets, sets, sets)
        own = [row[:sets].sum() - row[sets:].sum() for row in rows]
        assert test.seeds_above == sum(x > 0 for x in own)
        assert test.seeds_below == sum(x < 0 for x in own)
        assert set(test.flags) <= {"driven_by_one_training"}

    @pytest.mark.parametrize("sizes", [(2, 3), (7, 19), (30, 30)])
    @pytest.mark.parametrize("seeds", [2, 4, 8])
    def test_a_test_of_unmatched_groups_equals_naive_loops(self, seeds, sizes):
        rng = np.random.default_rng([seeds, *sizes])
        rows, groups = unpaired_scores(rng, seeds, *sizes)
        (test,) = crossed_tests(rows, groups, ORDER, **OPTIONS)
        check(test, cell(rows, groups))
        assert (test.n_seeds, test.n_sets, test.n_a, test.n_b) == (seeds, 0, *sizes)

    def test_a_test_of_two_sets_is_that_worked_out_by_hand(self):
        # Two seeds, two sets: D = [[1, 3], [2, 6]], D̄ = 3; the seeds' means are 2 and 4, the sets'
        # 1.5 and 4.5. MS_S = 2·(1 + 1)/1 = 4, MS_I = 2·(2.25 + 2.25)/1 = 9; all residuals are ±0.5,
        # so MS_E = 1: V_S = 1, V_I = 9/4 and V_E = 1/4, so that B = 2. Both t are Cauchy's, whose
        # scales add: p = 1 − 2 atan(3/(1 + √2))/π. T = 2·9 + 2·1 = 2² + 4².
        (test,) = crossed_tests(
            [[1, 3, 0, 0], [2, 6, 0, 0]], ["m", "m", "f", "f"], ORDER, [*"abab"]
        )
        assert (test.estimate, test.v_seeds, test.v_texts, test.v_cells) == (3, 1, 9 / 4, 1 / 4)
        assert test.standard_error == pytest.approx(math.sqrt(3))
        p = 1 - 2 * math.atan(3 / (1 + math.sqrt(2))) / math.pi
        assert test.p_mean == pytest.approx(p, rel=1e-9)


class TestWhatIsCompared:
    def test_of_several_values_in_a_set_the_mean_counts(self):
        rng = np.random.default_rng(7)
        rows, groups, pairs = paired_scores(rng, 4, 6)
        doubled = [[*row, row[0] + 1] for row in rows]  # set 0 has two values of "m"
        (test,) = crossed_tests(doubled, [*groups, "m"], ORDER, [*pairs, "0"])
        merged = [[row[0] + 0.5, *row[1:]] for row in rows]
        assert test == crossed_tests(merged, groups, ORDER, pairs)[0]
        # where the second of the two is undefined, the first counts
        doubled[1][-1] = NAN
        merged[1][0] -= 0.5
        (test,) = crossed_tests(doubled, [*groups, "m"], ORDER, [*pairs, "0"])
        expected = crossed_tests(merged, groups, ORDER, pairs)[0]
        assert test == dataclasses.replace(expected, flags=["missing_cells"])

    def test_sets_of_one_group_are_left_out(self):
        rows, groups, pairs = paired_scores(np.random.default_rng(8), 4, 6)
        more = [[*row, 50.0, 60.0] for row in rows]
        (test,) = crossed_tests(more, [*groups, "m", "f"], ORDER, [*pairs, "single", None])
        assert test == crossed_tests(rows, groups, ORDER, pairs)[0]

    def test_sets_that_never_mix_groups_are_no_sets(self):
        rows, groups = unpaired_scores(np.random.default_rng(9), 4, 5, 6)
        apart = [f"{group}-{i}" for i, group in enumerate(groups)]
        assert crossed_tests(rows, groups, ORDER, apart) == crossed_tests(rows, groups, ORDER)

    def test_a_cell_without_both_values_is_missing(self):
        rows, groups, pairs = paired_scores(np.random.default_rng(10), 5, 6)
        half, both = [row.copy() for row in rows], [row.copy() for row in rows]
        half[2][3] = both[2][3] = both[2][6 + 3] = NAN
        (test,) = crossed_tests(half, groups, ORDER, pairs)
        assert test == crossed_tests(both, groups, ORDER, pairs)[0]
        assert test.flags == ["missing_cells"]
        assert (test.n_seeds, test.n_sets) == (5, 6)

    @pytest.mark.parametrize("paired", [True, False])
    def test_seeds_and_texts_without_values_do_not_count(self, paired):
        rows, groups, pairs = paired_scores(np.random.default_rng(11), 5, 6)
        pairs = pairs if paired else None
        more = [[*row, NAN, NAN] for row in rows]
        more.append([*rows[0][:6], *[NAN] * 8])  # a seed without a value of "f"
        names = None if pairs is None else [*pairs, "x", "x"]
        (test,) = crossed_tests(more, [*groups, *ORDER], ORDER, names)
        expected = crossed_tests(rows, groups, ORDER, pairs)[0]
        assert test == dataclasses.replace(expected, flags=["missing_cells"])


class TestDegenerate:
    GROUPS = (*"mmmfff",)
    SETS = (*"abcabc",)

    def compared(self, rows, pairs=SETS):
        (test,) = crossed_tests(rows, self.GROUPS, ORDER, pairs)
        return test

    def assert_not_tested(self, test, flags):
        assert [getattr(test, name) for name in TESTED] == pytest.approx(
            [NAN] * len(TESTED), nan_ok=True
        )
        assert test.flags == flags

    @pytest.mark.parametrize("pairs", [SETS, None])
    @pytest.mark.parametrize("value", [0.0, 0.1, -7.3])
    def test_equal_scores_are_constant(self, value, pairs):
        test = self.compared([[value] * 6] * 10, pairs)
        self.assert_not_tested(test, ["constant"])
        assert test.estimate == 0
        assert math.isnan(test.d)
        assert (test.seeds_above, test.seeds_below) == (0, 0)

    @pytest.mark.parametrize("pairs", [SETS, None])
    def test_constant_groups_that_differ(self, pairs):
        test = self.compared([[0.3] * 3 + [0.1] * 3] * 10, pairs)
        self.assert_not_tested(test, ["no_variance"])
        assert test.d == math.inf
        assert (test.seeds_above, test.seeds_below) == (10, 0)

    def test_equal_members_of_every_set(self):
        """There is no better evidence of equivalence than pairs that always score the same."""
        test = self.compared([[0.1, 0.5, 0.7] * 2] * 3)
        assert test.flags == ["no_differences"]
        assert test.d == test.rms_gap == test.rms_low == test.rms_high == 0
        assert (test.p_mean, test.p_large, test.p_small, test.p_cross) == (1, 1, 0, 1)

    def test_the_same_difference_everywhere(self):
        # 0.3 − 0.1 is not 0.8 − 0.6 in floating point
        test = self.compared([[0.3, 0.8, 0.7, 0.1, 0.6, 0.5]] * 3)
        self.assert_not_tested(test, ["no_variance"])
        assert test.d > 0

    @pytest.mark.parametrize("pairs", [SETS, None])
    def test_one_training_is_tested_over_texts(self, pairs):
        """Its test is of other texts; of other trainings nothing is known."""
        row = [1.0, 2, 4, 3, 1, 1]
        test = self.compared([row], pairs)
        assert test.flags == ["one_training"]
        assert test.estimate == pytest.approx(2 / 3)
        assert test.d == pytest.approx((2 / 3) / math.sqrt((7 / 3 + 4 / 3) / 2))
        if pairs:
            expected = scipy.stats.ttest_rel(row[:3], row[3:])
        else:
            expected = scipy.stats.ttest_ind(row[:3], row[3:], equal_var=False)
        assert test.p_mean == pytest.approx(expected.pvalue)
        interval = expected.confidence_interval()
        assert (test.ci_low, test.ci_high) == pytest.approx((interval.low, interval.high))
        assert [getattr(test, name) for name in OF_TRAININGS] == pytest.approx(
            [NAN] * len(OF_TRAININGS), nan_ok=True
        )

    def test_one_matched_set_is_too_few(self):
        rows = [[1.0, NAN, NAN, 2.0, NAN, 1.0]] * 3
        self.assert_not_tested(self.compared(rows), ["too_few", "missing_cells"])
        test = self.compared(rows, None)
        self.assert_not_tested(test, ["too_few", "missing_cells"])
        assert (test.n_a, test.n_b) == (1, 2)

    @pytest.mark.parametrize("pairs", [SETS, None])
    @pytest.mark.parametrize(
        "rows", [[], [[NAN] * 6], [[NAN] * 6] * 4, [[1, 2, 3, *[NAN] * 3]] * 2]
    )
    def test_no_score_is_too_few(self, rows, pairs):
        test = self.compared(rows, pairs)
        self.assert_not_tested(test, ["too_few", *(["missing_cells"] if rows else [])])
        assert math.isnan(test.estimate)
        assert (test.n_seeds, test.n_a) == (0, 0)


@pytest.mark.property
@given(scores(seeds=5))
def test_counts_and_p_values_are_in_their_ranges(study):
    rows, groups, pairs = (study[name] for name in ("values", "groups", "pairs"))
    before = rows.copy()
    (test,) = crossed_tests(rows, groups, GROUPS[:2], pairs)
    np.testing.assert_array_equal(rows, before)
    assert test.seeds_above + test.seeds_below <= test.n_seeds <= len(rows)
    assert test.n_sets in (0, test.n_a)
    if math.isnan(test.p_mean):
        assert test.flags
        return
    for name in TESTED:
        if name.startswith(("p_", "next_")) or name == "equivalence_p":
            value = getattr(test, name)
            assert math.isnan(value) or 0 <= value <= 1, name
    assert test.ci_low <= test.estimate <= test.ci_high
    assert math.isnan(test.rms_low) or 0 <= test.rms_low <= test.rms_high
    # the interval of 95 % holds zero where the test at 5 % does not reject
    if abs(test.p_mean - 0.05) > 1e-6:
        assert (test.ci_low <= 0 <= test.ci_high) == (test.p_mean > 0.05)


@pytest.mark.property
@pytest.mark.parametrize("with_sets", [False, True])
@pytest.mark.parametrize("with_covariate", [False, True])
@pytest.mark.parametrize("n_seeds", [1, 4])
def test_metrics_and_pairs_of_groups_have_the_bits_that_each_has_alone(
    n_seeds, with_sets, with_covariate
):
    rng = np.random.default_rng(0)
    sizes = {"a": 40, "b": 31, "c": 40}  # those of two pairs are unequal
    groups = [group for group, size in sizes.items() for _ in range(size)]
    sets = [str(number) for size in sizes.values() for number in range(size)]
    texts = GroupedTexts.of(groups, tuple(sizes), sets if with_sets else None)
    values = rng.normal(size=(5, n_seeds, len(texts))) + rng.normal(size=(5, 1, len(texts)))
    values[:, :, :40] += np.array([0.0, 0.1, 0.5, 1.0, 0.3])[:, None, None]
    values[1, 0, 3:60] = NAN  # one is undefined elsewhere, and one is constant
    values[3] = 1.0
    covariate = rng.normal(size=len(texts)) if with_covariate else None
    together = crossed_gaps_of_many([*values], texts, DEFAULTS, covariate=covariate)
    for rows, tests in zip(values, together, strict=True):
        for test in tests:
            pair = test.group_a, test.group_b
            chosen = texts.in_group(pair[0]) | texts.in_group(pair[1])
            (alone,) = crossed_gaps(
                [*rows[:, chosen]],
                texts.among(pair),
                DEFAULTS,
                covariate=covariate[chosen] if with_covariate else None,
            )
            assert repr(test) == repr(alone)


@pytest.mark.parametrize("with_covariate", [False, True])
@given(scores(n_groups=3, seeds=3), scores(n_groups=3, seeds=3))
def test_mean_gaps_are_those_of_the_whole_test(with_covariate, columns, others):
    """Beside each other are rows that are undefined elsewhere, and rows without any gap."""
    texts = GroupedTexts.of(columns["groups"], columns["order"], columns["pairs"])
    values = columns["values"]
    missing = np.where(np.arange(values.shape[1]) % 3 == 0, np.nan, values)
    more = np.resize(others["values"], values.shape) if others["values"].size else values
    by_training = np.arange(len(values))[:, None] + np.zeros_like(values)
    rows = np.array([values, missing, more, np.zeros_like(values), by_training])
    pairs = [*itertools.combinations(texts.order, 2)]
    covariate = np.arange(values.shape[1]) % 5.0 if with_covariate else None
    gaps = mean_gaps(dict.fromkeys(pairs, rows), texts, covariate)
    tests = [crossed_gaps(row, texts, DEFAULTS, covariate=covariate, only="p_mean") for row in rows]
    expected = [
        of_constant(tests[row][pair]) for pair in range(len(pairs)) for row in range(len(rows))
    ]
    for name in ("n_seeds", "mean_a", "mean_b", "d", "p_mean"):
        np.testing.assert_array_equal(
            getattr(gaps, name), [getattr(test, name) for test in expected], err_msg=name
        )
