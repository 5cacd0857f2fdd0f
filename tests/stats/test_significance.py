"""How many tests are significant, counted by hand."""

import math

import pytest

from exparity.stats.informative import UNINFORMATIVE
from exparity.stats.significance import count_significant


def row(p, flags=()):
    return {"p": p, "flags": list(flags)}


# three of five tests with a p-value
ROWS = [
    *map(row, (0.001, 0.02, 0.0501, 0.9, math.nan)),
    row(0.05, flags=["undefined_values"]),
    *(row(0.001, flags=[flag]) for flag in UNINFORMATIVE),
]


def test_counts_by_hand():
    share = count_significant(ROWS, alpha=0.05)
    assert (share.hits, share.n, share.share, share.random) == (3, 5, 0.6, None)


def test_random_explanations_stand_beside():
    random_rows = [row(0.01), row(0.2), row(0.001, flags=["constant"])]
    share = count_significant(ROWS, alpha=0.05, random_rows=random_rows)
    assert (share.random.hits, share.random.n) == (1, 2)


@pytest.mark.parametrize("rows", [[], [row(math.nan)]])
def test_without_tests_there_is_no_share(rows):
    assert math.isnan(count_significant(rows, alpha=0.05).share)
