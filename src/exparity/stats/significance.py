"""How many tests are significant: the one count behind the page, the terminal and the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from exparity.core.settings import Statistics
from exparity.stats.informative import informative, of_quantity

Rows = Sequence[Mapping[str, Any]]
NAN = float("nan")

HEADLINE = {
    "plain": ("score", "p", ""),
    "considerable": ("score", "p", "considerable"),
    "holm": ("score", "p_holm", ""),
    "bh": ("score", "p_bh", ""),
    "paired": ("score", "wilcoxon_p", ""),
    "paired_holm": ("score", "wilcoxon_p_holm", ""),
    "paired_bh": ("score", "wilcoxon_p_bh", ""),
    "excess": ("excess", "p", ""),
    "excess_holm": ("excess", "p_holm", ""),
    "excess_bh": ("excess", "p_bh", ""),
    "excess_paired": ("excess", "wilcoxon_p", ""),
    "excess_paired_holm": ("excess", "wilcoxon_p_holm", ""),
    "excess_paired_bh": ("excess", "wilcoxon_p_bh", ""),
}
"""What a headline counts, in its order: the tests of a quantity by a column of p-values, and a
column that must hold too."""
_WITH_RANDOM = ("plain", "paired")
"""Counts of what random explanations are tested by as well."""


def exact_interval(
    hits: int, n: int, confidence: float = Statistics.confidence
) -> tuple[float, float]:
    """Return the interval of Clopper and Pearson (1934) of a share of independent trials.

    It covers at least as often as it says.
    """
    # Not scipy.stats, which takes a second to load.
    from scipy.special import betaincinv

    if not n:
        return NAN, NAN
    tail = (1 - confidence) / 2
    low = float(betaincinv(hits, n - hits + 1, tail)) if hits else 0.0
    high = float(betaincinv(hits + 1, n - hits, 1 - tail)) if hits < n else 1.0
    return low, high


@dataclass(frozen=True)
class SignificantShare:
    """A share of tests that are significant.

    Attributes:
        hits: significant tests.
        n: tests with a p-value.
        random: the same share of the scores of random explanations; None if there are none.
    """

    hits: int
    n: int
    random: SignificantShare | None = None

    @property
    def share(self) -> float:
        """Share of the tests, in [0, 1]; NaN without tests."""
        return self.hits / self.n if self.n else NAN

    def interval(self, confidence: float = Statistics.confidence) -> tuple[float, float]:
        """Return the exact interval of the share, as if tests were independent."""
        return exact_interval(self.hits, self.n, confidence)


def count_significant(
    rows: Rows, *, alpha: float, counted: str = "plain", random_rows: Rows = ()
) -> SignificantShare:
    """Count the significant ones among tests.

    Those without a p-value are not counted, nor those that are not
    :func:`~exparity.stats.informative.is_informative`.
    """
    quantity, p, column = HEADLINE[counted]
    tested = [row for row in informative(of_quantity(rows, quantity)) if row[p] == row[p]]
    hits = sum(bool(row[p] <= alpha and (not column or row[column])) for row in tested)
    random = None
    if counted in _WITH_RANDOM and random_rows:
        of_random = [{**row, "quantity": quantity} for row in random_rows]
        random = count_significant(of_random, alpha=alpha, counted=counted)
    return SignificantShare(hits, len(tested), random)


def headline_shares(
    rows: Rows, *, alpha: float, random_rows: Rows = ()
) -> dict[str, SignificantShare]:
    """Count the significant tests by each way of :data:`HEADLINE` that applies to them."""
    shares = {
        counted: count_significant(rows, alpha=alpha, counted=counted, random_rows=random_rows)
        for counted, (_, p, _) in HEADLINE.items()
        if rows and p in rows[0]
    }
    return {counted: share for counted, share in shares.items() if share.n}
