"""Explanation performance: which examples count, beside loops."""

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exparity.analyses.correctness import SUBSETS, performance

NAN = math.nan


def by_key(rows):
    return {(row["subset"], row["group"]): row for row in rows}


@pytest.mark.property
@given(st.data())
def test_performance_equals_a_naive_loop(data):
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
        assert (row["n"], row["n_undefined"]) == (len(defined), len(kept) - len(defined))
        expected = [
            statistics.fmean(defined) if defined else NAN,
            statistics.median(defined) if defined else NAN,
            statistics.stdev(defined) if len(defined) > 1 else NAN,
        ]
        assert [row[name] for name in ("mean", "median", "sd")] == pytest.approx(
            expected, abs=1e-9, nan_ok=True
        )
    assert {subset for subset, _ in found} <= set(SUBSETS)
