"""How many tests are significant: the one count behind the page, the terminal and the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from exparity.stats.control import ControlRate
from exparity.stats.exact import exact_interval

Rows = Sequence[Mapping[str, Any]]

P_VALUES = {"mann_whitney": "p", "wilcoxon": "wilcoxon_p"}
"""Column of the p-value of each test."""
HEADLINE = {
    "plain": ("mann_whitney", ""),
    "considerable": ("mann_whitney", "considerable"),
    "holm": ("mann_whitney", "significant_holm"),
    "bh": ("mann_whitney", "significant_bh"),
    "paired": ("wilcoxon", ""),
}
"""What a headline counts, in its order: a test, and a column that must hold too."""
_COMPARED_WITH = {"plain": ("mann_whitney", "across_rows"), "paired": ("wilcoxon", "within_sets")}


@dataclass(frozen=True)
class SignificantShare:
    """A share of tests that are significant.

    Attributes:
        hits: significant tests.
        n: tests with a p-value.
        control: the same share where groups were dealt at random; None if that was not done.
    """

    hits: int
    n: int
    control: ControlRate | None = None

    @property
    def share(self) -> float:
        """Share of the tests, in [0, 1]; NaN without tests."""
        return self.hits / self.n if self.n else float("nan")

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the exact interval of the share, as if tests were independent."""
        return exact_interval(self.hits, self.n, confidence)


def count_significant(
    rows: Rows,
    *,
    alpha: float,
    counted: str = "plain",
    controls: Sequence[ControlRate] = (),
) -> SignificantShare:
    """Count the significant ones among tests; those without a p-value are not counted.

    Args:
        rows: rows of the tests or disparity artefact.
        alpha: largest p-value that is significant.
        counted: what counts, of :data:`HEADLINE`.
        controls: rates of the permutation control of these tests.
    """
    test, column = HEADLINE[counted]
    p = P_VALUES[test]
    tested = [row for row in rows if row[p] == row[p]]
    hits = sum(bool(row[p] <= alpha and (not column or row[column])) for row in tested)
    key = _COMPARED_WITH.get(counted)
    control = next((c for c in controls if (c.test, c.scheme) == key and c.n_permutations), None)
    return SignificantShare(hits, len(tested), control)


def headline_shares(
    rows: Rows, *, alpha: float, controls: Sequence[ControlRate] = ()
) -> dict[str, SignificantShare]:
    """Count the significant tests by each way of :data:`HEADLINE` that applies to them.

    Args:
        rows: rows of the tests or disparity artefact; without corrections these are left out.
        alpha: largest p-value that is significant.
        controls: rates of the permutation control of these tests.
    """
    shares = {
        counted: count_significant(rows, alpha=alpha, counted=counted, controls=controls)
        for counted, (_, column) in HEADLINE.items()
        if rows and (not column or column in rows[0])
    }
    return {counted: share for counted, share in shares.items() if share.n}
