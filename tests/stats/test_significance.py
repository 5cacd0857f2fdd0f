"""How many tests are significant, counted by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from exparity.stats.informative import UNINFORMATIVE
from exparity.stats.significance import (
    HEADLINE,
    count_significant,
    exact_interval,
    headline_shares,
)

NAN = math.nan


def row(p, *, considerable=False, holm=NAN, bh=NAN, wilcoxon_p=NAN, flags=()):
    return {
        "p": p,
        "considerable": considerable,
        "p_holm": holm,
        "p_bh": bh,
        "wilcoxon_p": wilcoxon_p,
        "wilcoxon_p_holm": 2 * wilcoxon_p,
        "wilcoxon_p_bh": wilcoxon_p,
        "flags": list(flags),
    }


def excess_of(row):
    """The test of the excess beside that of a score: only signed ranks say something."""
    nothing = dict.fromkeys(("p", "p_holm", "p_bh", "wilcoxon_p_holm"), NAN)
    return {**row, "quantity": "excess", **nothing, "wilcoxon_p": row["wilcoxon_p"] / 2}


# of five tests with a p-value: 3 significant, of them 1 considerable, 1 by Holm and 2 by BH
ROWS = [
    row(0.001, considerable=True, holm=0.005, bh=0.005, wilcoxon_p=0.05),
    row(0.02, holm=0.08, bh=0.05, wilcoxon_p=0.051),
    row(0.05, holm=0.15, bh=0.08, wilcoxon_p=0.2, flags=["undefined_values"]),
    row(0.0501, considerable=True, holm=0.15, bh=0.08),
    row(0.9, holm=0.9, bh=0.9),
    row(NAN, considerable=True),
    *(row(0.001, wilcoxon_p=0.001, flags=[flag]) for flag in UNINFORMATIVE),
]


def test_counts_by_hand():
    shares = headline_shares([*ROWS, *map(excess_of, ROWS)], alpha=0.05)
    assert {name: (share.hits, share.n) for name, share in shares.items()} == {
        "plain": (3, 5),
        "considerable": (1, 5),
        "holm": (1, 5),
        "bh": (2, 5),
        "paired": (1, 3),
        "paired_holm": (0, 3),
        "paired_bh": (1, 3),
        "excess_paired": (2, 3),
        "excess_paired_bh": (1, 3),
    }
    assert list(shares) == [name for name in HEADLINE if name in shares]
    assert shares["plain"].share == 0.6


def test_without_corrections_or_sets_they_are_left_out():
    rows = [{"p": 0.01, "considerable": True, "wilcoxon_p": NAN}]
    assert list(headline_shares(rows, alpha=0.05)) == ["plain", "considerable"]
    assert headline_shares([row(NAN)], alpha=0.05) == {}
    assert headline_shares([], alpha=0.05) == {}


def test_random_explanations_stand_beside():
    random_rows = [row(0.01, wilcoxon_p=0.9), row(0.2), row(0.001, flags=["constant"])]
    shares = headline_shares(ROWS, alpha=0.05, random_rows=random_rows)
    beside = {name: share.random for name, share in shares.items() if share.random}
    assert {name: (share.hits, share.n) for name, share in beside.items()} == {
        "plain": (1, 2),
        "paired": (0, 1),
    }


def test_the_interval_is_exact():
    share = count_significant(ROWS, alpha=0.05)
    expected = binomtest(3, 5).proportion_ci(0.9, method="exact")
    assert share.interval(0.9) == pytest.approx((expected.low, expected.high))


def test_without_tests_there_is_no_share():
    share = count_significant([], alpha=0.05)
    assert math.isnan(share.share)
    assert all(math.isnan(end) for end in share.interval())


@given(st.integers(0, 200), st.integers(0, 200), st.floats(0.5, 0.999))
def test_exact_interval(hits, more, confidence):
    n = hits + more
    found = exact_interval(hits, n, confidence)
    if not n:
        assert all(math.isnan(end) for end in found)
        return
    expected = binomtest(hits, n).proportion_ci(confidence, method="exact")
    assert found == pytest.approx((expected.low, expected.high), abs=1e-8)
