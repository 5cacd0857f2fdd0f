"""Effects over seeds, and counts of significant tests, by hand."""

import math

import numpy as np
import pytest
from made_up import seed_test

from exparity.stats.informative import UNINFORMATIVE
from exparity.stats.seeds import (
    count_seeds,
    has_both_signs,
    mean_effect,
    sd_of_effects,
    significant_share,
)


def row(p, d, alpha=0.05, **more):
    direction = 0 if d != d else int(np.sign(d))
    return seed_test(p=p, cohens_d=d, significant=p <= alpha, direction=direction, **more)


class TestEffects:
    def test_mean_and_spread_of_effects_are_those_worked_out_by_hand(self):
        rows = [row(0.01, 0.4), row(0.04, 0.2), row(0.3, -0.1), row(0.2, 0.1)]
        assert mean_effect(rows) == pytest.approx(0.15)
        # deviations .25 .05 −.25 −.05: squares sum to .13
        assert sd_of_effects(rows) == pytest.approx(math.sqrt(0.13 / 3))
        assert has_both_signs(rows)

    @pytest.mark.parametrize(
        "more", [row(math.nan, math.nan), *(row(0.001, -9.0, flags=[one]) for one in UNINFORMATIVE)]
    )
    def test_undefined_seeds_and_those_that_say_nothing_are_left_out(self, more):
        rows = [row(0.01, 0.4), row(0.5, 0.1)]
        for of in (mean_effect, sd_of_effects, has_both_signs):
            assert of([*rows, more]) == of(rows)

    def test_undefined_effects_have_no_mean(self):
        for of in (mean_effect, sd_of_effects):
            assert math.isnan(of([row(math.nan, math.nan)]))

    def test_an_infinite_effect_has_an_infinite_mean(self):
        rows = [row(0.01, math.inf), row(0.01, 0.5)]
        assert mean_effect(rows) == math.inf
        assert math.isnan(sd_of_effects(rows))
        assert math.isnan(mean_effect([row(0.01, math.inf), row(0.01, -math.inf)]))


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
    rows = [seed_test(significant=yes, cohens_d=d, flags=["x"]) for yes, d in outcomes]
    found = count_seeds(rows, 0.3)
    assert (found.significant, found.total, found.flags) == (count, len(rows), ("x",))
    assert found.mean_d == (None if mean is None else pytest.approx(mean, abs=1e-12))
    assert (found.considerable, found.direction) == (bold, direction)


def p_value(p, flags=()):
    return seed_test(p=p, flags=list(flags))


# three of five tests with a p-value
ROWS = [
    *map(p_value, (0.001, 0.02, 0.0501, 0.9, math.nan)),
    p_value(0.05, flags=["undefined_values"]),
    *(p_value(0.001, flags=[flag]) for flag in UNINFORMATIVE),
]


def test_significant_shares_are_those_worked_out_by_hand():
    assert significant_share(ROWS, alpha=0.05) == (0.6, 5)


@pytest.mark.parametrize("rows", [[], [p_value(math.nan)]])
def test_without_tests_there_is_no_share(rows):
    share, n = significant_share(rows, alpha=0.05)
    assert math.isnan(share)
    assert n == 0
