"""Summaries over seeds: counts, means and combined p-values."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exparity.stats import combine_p, summarise_seeds
from exparity.stats.informative import UNINFORMATIVE
from exparity.stats.seeds import count_seeds, has_both_signs, mean_effect


def row(p, d, alpha=0.05, **more):
    return {
        "p": p,
        "cohens_d": d,
        "significant": p <= alpha,
        "direction": 0 if d != d else int(np.sign(d)),
        **more,
    }


class TestSummary:
    def test_by_hand(self):
        found = summarise_seeds([row(0.01, 0.4), row(0.04, 0.2), row(0.3, -0.1), row(0.2, 0.1)])
        assert (found.n_seeds, found.n_tested, found.n_significant) == (4, 4, 2)
        assert found.mean_d == pytest.approx(0.15)
        # deviations .25 .05 −.25 −.05: squares sum to .13
        assert found.sd_d == pytest.approx(math.sqrt(0.13 / 3))
        assert found.mean_d_significant == pytest.approx(0.3)
        assert (found.considerable, found.direction, found.same_sign) == (True, 1, 0.75)
        # cot(.01π), cot(.04π), cot(.3π), cot(.2π): mean 10.46...
        mean = sum(1 / math.tan(p * math.pi) for p in (0.01, 0.04, 0.3, 0.2)) / 4
        assert found.combined_p == pytest.approx(0.5 - math.atan(mean) / math.pi, rel=1e-12)

    def test_undefined_seeds_count_and_change_nothing_else(self):
        rows = [row(0.01, 0.4), row(0.5, 0.1)]
        one, two = summarise_seeds(rows), summarise_seeds([*rows, row(math.nan, math.nan)])
        assert (two.n_seeds, two.n_tested) == (3, 2)
        assert (one.mean_d, one.sd_d, one.same_sign) == (two.mean_d, two.sd_d, two.same_sign)
        assert one.combined_p == two.combined_p

    @pytest.mark.parametrize("flag", UNINFORMATIVE)
    def test_seeds_that_say_nothing_are_left_out(self, flag):
        rows = [row(0.01, 0.4), row(0.5, 0.1)]
        one, two = (summarise_seeds(r) for r in (rows, [*rows, row(0.001, -9.0, flags=[flag])]))
        assert (two.n_seeds, two.n_tested) == (3, 2)
        assert replace(two, n_seeds=2) == one

    @pytest.mark.parametrize("flag", UNINFORMATIVE)
    def test_page_and_terminal_leave_them_out_as_figures_do(self, flag):
        rows = [row(0.01, 0.4), row(0.5, 0.2), row(0.001, -9.0, flags=[flag])]
        assert mean_effect(rows) == summarise_seeds(rows).mean_d == pytest.approx(0.3)
        assert not has_both_signs(rows)
        assert summarise_seeds(rows).same_sign == 1
        assert has_both_signs([*rows, row(0.9, -0.1)])

    def test_nothing_significant(self):
        found = summarise_seeds([row(0.5, 0.9), row(0.6, -0.9)])
        assert math.isnan(found.mean_d_significant)
        assert (found.considerable, found.direction, found.same_sign) == (False, 0, 0.5)

    def test_nothing_defined(self):
        found = summarise_seeds([row(math.nan, math.nan)])
        assert (found.n_tested, found.direction) == (0, 0)
        for name in ("mean_d", "sd_d", "mean_d_significant", "same_sign", "combined_p"):
            assert math.isnan(getattr(found, name)), name

    def test_infinite_effects(self):
        found = summarise_seeds([row(0.01, math.inf), row(0.01, 0.5)])
        assert (found.mean_d, found.considerable) == (math.inf, True)
        assert math.isnan(found.sd_d)
        both = summarise_seeds([row(0.01, math.inf), row(0.01, -math.inf)])
        assert math.isnan(both.mean_d)
        assert not both.considerable

    @pytest.mark.parametrize(("threshold", "considerable"), [(0.3, True), (0.31, False)])
    def test_threshold(self, threshold, considerable):
        found = summarise_seeds([row(0.01, -0.3), row(0.9, 2.0)], threshold=threshold)
        assert found.considerable is considerable


class TestCombined:
    @given(st.floats(1e-12, 0.98), st.integers(1, 6))
    def test_equal_p_values_give_that_p_value(self, p, n):
        assert combine_p([p] * n) == pytest.approx(p, rel=1e-9)

    @given(st.lists(st.floats(1e-15, 1), min_size=1, max_size=8))
    def test_is_at_least_the_smallest(self, p):
        # The mean of cotangents is at most the largest.
        assert min(*p, 0.99) * 0.999 <= combine_p(p) <= 1
        assert combine_p(p) == pytest.approx(combine_p(p[::-1]), rel=1e-9)

    def test_one_seed_without_difference_does_not_hide_the_others(self):
        assert combine_p([1e-8, 1e-6, 1.0]) < 1e-5

    def test_tiny_and_zero(self):
        assert combine_p([1e-300, 0.5]) == pytest.approx(2e-300, rel=1e-9)
        assert combine_p([0.0, 0.5]) == 0.0
        assert math.isnan(combine_p([math.nan]))
        assert math.isnan(combine_p([]))

    def test_the_input_is_left_as_it_was(self):
        p = np.array([1.0, 0.2])
        combine_p(p)
        assert p.tolist() == [1.0, 0.2]


@pytest.mark.parametrize(
    ("outcomes", "count", "mean", "bold", "direction"),
    [
        ([(True, 0.5), (True, 0.3), (True, 0.7)], 3, 0.5, True, 1),
        ([(True, -0.4), (False, 0.9), (True, -0.6)], 2, -0.5, True, -1),
        ([(False, 2.0), (True, 0.2), (False, -2.0)], 1, 0.2, False, 1),
        ([(True, 0.25), (True, 0.375), (True, 0.275)], 3, 0.3, True, 1),  # exactly the threshold
        ([(False, 0.5), (False, 0.9), (False, -0.2)], 0, 0.4, False, 1),
        ([(True, 0.5), (True, -0.5), (False, 3.0)], 2, 0.0, False, 0),
        ([(False, math.nan)] * 3, 0, None, False, 0),
        ([(False, math.nan), (False, -0.25), (False, math.nan)], 0, -0.25, False, -1),
        ([(True, -math.inf), (True, -math.inf), (True, -0.5)], 3, -math.inf, True, -1),
        ([(True, -math.inf), (True, math.inf)], 2, None, False, 0),
    ],
)
def test_counts_as_published_by_hand(outcomes, count, mean, bold, direction):
    """Seeds with a difference, and the mean d over these, or over all if there is none."""
    rows = [{"significant": yes, "cohens_d": d, "flags": ["x"]} for yes, d in outcomes]
    found = count_seeds(rows, 0.3)
    assert (found.significant, found.total, found.flags) == (count, len(rows), ("x",))
    assert found.mean_d == (None if mean is None else pytest.approx(mean, abs=1e-12))
    assert (found.considerable, found.direction) == (bold, direction)
