"""Ranges of values that are drawn: where they are but rounding, and without overflow."""

from __future__ import annotations

import numpy as np

from exparity.types import FloatArray

EQUAL = 1e-9
"""Values whose range is no larger than this share of their magnitude are equal up to rounding."""


def is_constant(low: float, high: float) -> bool:
    """Return whether values from ``low`` to ``high`` are equal up to rounding."""
    # Halves: the difference of two huge numbers is infinite.
    return high / 2 - low / 2 <= EQUAL / 2 * max(abs(low), abs(high))


def shares_of(values: FloatArray, low: float, high: float) -> FloatArray:
    """Return where (n,) values lie between ``low`` and ``high``, which differ: 0 to 1."""
    # The square of a tiny or a huge number is none.
    magnitude = max(abs(low), abs(high))
    start = low / magnitude
    shares: FloatArray = (np.asarray(values) / magnitude - start) / (high / magnitude - start)
    return shares
