"""Several groups: every pair, and tests over all of them."""

import dataclasses
import math

import numpy as np
import pytest
import scipy.stats

from exparity.stats.compare import compare_all, compare_groups

ORDER = ("a", "b", "c")
AT_ONCE = (
    "n_groups", "omnibus", "omnibus_statistic", "omnibus_p", "epsilon_squared", "n_sets",
    "friedman_statistic", "friedman_p",
)  # fmt: skip


@pytest.fixture
def sample():
    """Twelve sets of three, as columns: values, groups, sets."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(12, 3)) + np.array([0.0, 0.5, 1.5])
    sets = [f"s{i}" for i in range(12) for _ in ORDER]
    return table, table.ravel(), list(ORDER) * 12, sets


@pytest.mark.reference
class TestAtOnce:
    def test_tests_over_all_groups_are_those_of_scipy(self, sample):
        table, values, groups, sets = sample
        kruskal = scipy.stats.kruskal(*table.T)
        friedman = scipy.stats.friedmanchisquare(*table.T)
        for row in compare_all(values, groups, ORDER, sets, resamples=0):
            assert (row.omnibus, row.n_groups, row.n_sets) == ("kruskal_wallis", 3, 12)
            assert row.omnibus_statistic == pytest.approx(kruskal.statistic, rel=1e-9)
            assert row.omnibus_p == pytest.approx(kruskal.pvalue, rel=1e-9)
            assert row.friedman_statistic == pytest.approx(friedman.statistic, rel=1e-9)
            assert row.friedman_p == pytest.approx(friedman.pvalue, rel=1e-9)
            assert row.epsilon_squared == pytest.approx(kruskal.statistic / 35, rel=1e-9)

    def test_undefined_values_and_incomplete_sets_take_no_part(self, sample):
        table, values, groups, sets = sample
        values = values.copy()
        values[4] = math.nan  # b of set 1
        sets = [None if s == "s2" else s for s in sets]
        kept = np.delete(table, [1, 2], axis=0)
        row = compare_all(values, groups, ORDER, sets, resamples=0)[0]
        assert row.n_sets == 10
        expected = scipy.stats.friedmanchisquare(*kept.T)
        assert row.friedman_p == pytest.approx(expected.pvalue, rel=1e-9)
        parts = [table[:, 0], np.delete(table[:, 1], 1), table[:, 2]]
        assert row.omnibus_p == pytest.approx(scipy.stats.kruskal(*parts).pvalue, rel=1e-9)

    def test_several_values_of_a_set_enter_with_their_mean(self, sample):
        table, values, groups, sets = sample
        values = np.append(values, table[0, 0] + 2)
        table = table.copy()
        table[0, 0] += 1
        row = compare_all(values, [*groups, "a"], ORDER, [*sets, "s0"], resamples=0)[0]
        expected = scipy.stats.friedmanchisquare(*table.T)
        assert row.friedman_p == pytest.approx(expected.pvalue, rel=1e-9)


def test_each_pair_is_the_comparison_of_these_two(sample):
    _, values, groups, sets = sample
    rows = compare_all(values, groups, ORDER, sets, resamples=0, alpha=0.3, ddof=0)
    assert [(r.group_a, r.group_b) for r in rows] == [("a", "b"), ("a", "c"), ("b", "c")]
    for row in rows:
        kept = [i for i, g in enumerate(groups) if g in (row.group_a, row.group_b)]
        alone = compare_groups(
            values[kept], [groups[i] for i in kept], (row.group_a, row.group_b),
            [sets[i] for i in kept], resamples=0, alpha=0.3, ddof=0,
        )  # fmt: skip
        same = {name: getattr(row, name) for name in AT_ONCE}
        # As text: from Python 3.13 on, a NaN makes a dataclass unequal to it
        assert repr(dataclasses.replace(alone, **same)) == repr(row)


def test_of_two_groups_the_rest_is_left_empty(sample):
    _, values, groups, sets = sample
    kept = [i for i, g in enumerate(groups) if g != "b"]
    (row,) = compare_all(
        values[kept], [groups[i] for i in kept], ("a", "c"), [sets[i] for i in kept]
    )
    assert (row.n_groups, row.omnibus, row.n_sets) == (2, "", 0)
    for name in ("omnibus_statistic", "omnibus_p", "epsilon_squared", "friedman_p"):
        assert math.isnan(getattr(row, name))
    assert row.flags == ["interval_none"]  # of twelve sets


class TestDegenerate:
    def test_a_group_of_one_value_is_left_out_at_once(self, sample):
        table, values, groups, sets = sample
        groups = [*groups, "d"]
        rows = compare_all([*values, 9.0], groups, (*ORDER, "d"), [*sets, "s0"], resamples=0)
        assert {r.n_groups for r in rows} == {3}
        assert rows[0].omnibus_p == pytest.approx(scipy.stats.kruskal(*table.T).pvalue, rel=1e-9)
        assert rows[0].n_sets == 12
        assert [r.flags for r in rows if r.group_b == "d"] == [["too_few"]] * 3

    def test_equal_values_differ_nowhere(self):
        rows = compare_all([0.1] * 9, [*ORDER] * 3, ORDER, [*"xxxyyyzzz"])
        for row in rows:
            assert row.flags == ["constant"]
            assert (row.omnibus_statistic, row.omnibus_p, row.epsilon_squared) == (0.0, 1.0, 0.0)
            assert (row.n_sets, row.friedman_statistic, row.friedman_p) == (3, 0.0, 1.0)

    def test_no_values_are_too_few(self):
        rows = compare_all([], [], ORDER, [])
        assert [r.flags for r in rows] == [["too_few"]] * 3
        assert {r.n_groups for r in rows} == {0}
