"""Shares of examples (accuracy, true positive rate) and their intervals, without resampling.

Shares near 0 or 1 are the rule for fine-tuned classifiers. There a bootstrap interval shrinks to a
point, and score intervals do not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exparity.types import BoolArray, FloatArray, IntArray

Interval = tuple[float, float]


@dataclass(frozen=True)
class Share:
    """``hits`` of ``n`` examples.

    Attributes:
        hits: examples that count; no whole number where ``n`` is less than the examples, since some
            depend on each other.
        n: examples that could; the share is NaN where it is 0.
    """

    hits: float
    n: int

    @property
    def value(self) -> float:
        """The share, in [0, 1]; NaN without examples."""
        return self.hits / self.n if self.n else np.nan

    def interval(self, confidence: float) -> Interval:
        """Return the Wilson score interval (Wilson 1927); NaN ends without examples."""
        from scipy.special import ndtri

        if not self.n:
            return np.nan, np.nan
        # As scipy's, bit for bit, which takes whole hits only.
        n = self.n
        p = self.value
        z = float(ndtri(0.5 + 0.5 * confidence))
        scale = 2 * (n + z**2)
        centre = (2 * n * p + z**2) / scale
        half = z / scale * math.sqrt(4 * n * p * (1 - p) + z**2)
        return 0.0 if self.hits == 0 else centre - half, 1.0 if self.hits == n else centre + half


def difference_interval(
    first: Share, second: Share, confidence: float, correlation: float = 0.0
) -> Interval:
    """Interval of the difference of two shares, first minus second.

    The ends of both Wilson intervals are put together by the square-and-add rule of Newcombe
    (1998, doi:10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I, method 10), with
    the term for correlated shares of Zou and Donner (2008, doi:10.1002/sim.3095).
    """
    if not first.n or not second.n:
        return np.nan, np.nan
    low_a, high_a = first.interval(confidence)
    low_b, high_b = second.interval(confidence)
    difference = first.value - second.value
    below = _add(first.value - low_a, high_b - second.value, correlation)
    above = _add(high_a - first.value, second.value - low_b, correlation)
    return difference - below, difference + above


def paired_difference_interval(counts: Sequence[float], n: int, confidence: float) -> Interval:
    """Interval of the difference of two shares of the same examples, first minus second.

    As :func:`difference_interval`, with the correlation of the pairs, whose numerator is brought
    nearer to 0 by n/2 where it is positive: without that, shares that agree on every example would
    have no width (Newcombe 1998,
    doi:10.1002/(SICI)1097-0258(19981130)17:22<2635::AID-SIM954>3.0.CO;2-C, method 10).
    """
    both, first, second, neither = counts
    margins = (both + first) * (second + neither) * (both + second) * (first + neither)
    together = both * neither - first * second
    together = max(0.0, together - n / 2) if together > 0 else together
    correlation = together / math.sqrt(margins) if margins > 0 else 0.0
    shares = Share(both + first, n), Share(both + second, n)
    return difference_interval(*shares, confidence, correlation)


def _add(a: float, b: float, correlation: float) -> float:
    # Rounding can take the sum below 0 where the correlation is 1.
    return math.sqrt(max(0.0, a * a + b * b - 2 * correlation * a * b))


def correlation_of_shares(
    hits: BoolArray, in_first: BoolArray, in_second: BoolArray, sets: IntArray | None
) -> float:
    """Estimate how the shares of two groups go together, because they share matched sets.

    For complete pairs this is the phi coefficient of the pairs' hits.
    """
    if sets is None or not in_first.any() or not in_second.any():
        return 0.0
    size = int(sets.max()) + 1

    def hits_by_set(mask: BoolArray) -> FloatArray:
        """Return (m,) hits of a group in each set, less those that its share makes expect."""
        surplus = hits[mask] - hits[mask].mean()
        return np.bincount(sets[mask], weights=surplus, minlength=size).astype(np.float64)

    a = hits_by_set(in_first)
    b = hits_by_set(in_second)
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(np.clip((a @ b) / scale, -1, 1)) if scale > 0 else 0.0
