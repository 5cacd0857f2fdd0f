"""Counts of significant tests, as the published study counts them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from exparity.stats.informative import informative

Rows = Sequence[Mapping[str, Any]]


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
        return self.hits / self.n if self.n else math.nan


def count_significant(rows: Rows, *, alpha: float, random_rows: Rows = ()) -> SignificantShare:
    """Count the significant ones among Mann–Whitney tests, uncorrected.

    Those without a p-value are not counted, nor those that are not
    :func:`~exparity.stats.informative.is_informative`.
    """
    tested = [row for row in informative(rows) if row["p"] == row["p"]]
    hits = sum(bool(row["p"] <= alpha) for row in tested)
    random = count_significant(random_rows, alpha=alpha) if random_rows else None
    return SignificantShare(hits, len(tested), random)
