"""How many tests are significant, counted by hand."""

from __future__ import annotations

import math

import pytest
from scipy.stats import binomtest

from exparity.stats.informative import UNINFORMATIVE
from exparity.stats.significance import (
    HEADLINE,
    control_rates,
    count_significant,
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
        **{f"excess_{name}": NAN for name in ("p", "p_holm", "p_bh", "wilcoxon_p_holm")},
        "excess_wilcoxon_p": wilcoxon_p / 2,
        "excess_wilcoxon_p_bh": wilcoxon_p,
        "flags": list(flags),
    }


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


def control(scheme, test, n, significant, flags=()):
    counts = {"n_permutations": n, "n_significant": significant}
    return {"scheme": scheme, "test": test, **counts, "flags": list(flags)}


def test_counts_by_hand():
    shares = headline_shares(ROWS, alpha=0.05)
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


def test_each_stands_beside_its_own_control():
    rates = control_rates(
        [
            control("across_rows", "mann_whitney", 100, 5),
            control("within_sets", "mann_whitney", 100, 9),
            control("within_sets", "mann_whitney", 100, 100, ["rounding_noise"]),
            control("within_sets", "wilcoxon", 0, 0),
        ]
    )
    shares = headline_shares(ROWS, alpha=0.05, controls=rates)
    assert shares["plain"].control.rate == 0.09
    assert {name for name, share in shares.items() if share.control is not None} == {"plain"}


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
