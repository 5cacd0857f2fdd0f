"""Explanation performance: which examples count, beside loops."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exparity.analyses.correctness import SUBSETS, performance

NAN = math.nan


def by_key(rows):
    return {(row.subset, row.group): row for row in rows}


def test_by_hand():
    # Two pairs and a single example; of the second pair one member is misclassified.
    found = by_key(
        performance(
            [0.2, 0.4, NAN, 0.8, 1.0],
            [True, True, True, False, True],
            ["a", "b", "a", "b", "a"],
            ["a", "b"],
            ["1", "1", "2", "2", None],
        )
    )
    everything = found["all", ""]
    assert (everything.n, everything.n_undefined) == (4, 1)
    assert everything.mean == pytest.approx((0.2 + 0.4 + 0.8 + 1.0) / 4)
    assert everything.median == pytest.approx(0.6)
    assert everything.sd == pytest.approx(statistics.stdev([0.2, 0.4, 0.8, 1.0]))
    assert found["correct", ""].mean == pytest.approx((0.2 + 0.4 + 1.0) / 3)
    assert (found["correct", "a"].n, found["correct", "a"].n_undefined) == (2, 1)
    assert found["correct", "b"].mean == 0.4
    assert math.isnan(found["correct", "b"].sd)
    assert found["correct_sets", ""].mean == pytest.approx(0.3)
    assert (found["correct_sets", "a"].n, found["correct_sets", "a"].n_undefined) == (1, 0)


def test_nothing_correct_is_undefined_not_zero():
    found = by_key(performance([0.5, 0.5], [False, False], ["a", "b"], ["a", "b"]))
    assert found["correct", ""].n == 0
    assert math.isnan(found["correct", ""].mean)
    assert math.isnan(found["correct", ""].median)


@pytest.mark.parametrize("sets", [None, [None, None]])
def test_without_sets_there_is_no_subset_of_them(sets):
    found = performance([0.5, 0.5], [True, True], ["a", "b"], ["a", "b"], sets)
    assert {row.subset for row in found} == {"all", "correct"}


@pytest.mark.property
@given(st.data())
def test_equals_the_loop(data):
    n = data.draw(st.integers(1, 12))
    column = lambda values: data.draw(st.lists(values, min_size=n, max_size=n))  # noqa: E731
    scores = column(st.one_of(st.just(NAN), st.floats(0, 1)))
    right, groups = column(st.booleans()), column(st.sampled_from("abc"))
    sets = column(st.sampled_from(["1", "2", None]))
    found = by_key(performance(scores, right, groups, ["a", "b", "c"], sets))
    for (subset, group), row in found.items():
        kept = []
        for i in range(n):
            whole = sets[i] is not None and all(right[j] for j in range(n) if sets[j] == sets[i])
            wanted = {"all": True, "correct": right[i], "correct_sets": whole}[subset]
            if wanted and group in ("", groups[i]):
                kept.append(scores[i])
        defined = [score for score in kept if not math.isnan(score)]
        assert (row.n, row.n_undefined) == (len(defined), len(kept) - len(defined))
        expected = np.mean(defined) if defined else NAN
        assert row.mean == pytest.approx(expected, nan_ok=True)
    assert {subset for subset, _ in found} <= set(SUBSETS)
