"""Roots of monotone functions of many cells, all at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from exparity.types import FloatArray

_STEPS = 100
_PRECISION = 1e-10


def root_between(
    function: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray
) -> FloatArray:
    """Return where a monotone function is zero, by the Illinois rule (Dowell and Jarratt 1971)."""
    low, high = low.copy(), high.copy()
    at_low, at_high = function(low), function(high)
    scale = _PRECISION * np.maximum(1.0, np.maximum(np.abs(low), np.abs(high)))
    last: FloatArray = high.copy()
    side = np.zeros(len(low))
    for _ in range(_STEPS):
        rise = at_high - at_low
        share = np.divide(-at_low, rise, out=np.full_like(rise, 0.5), where=rise != 0)
        point = low + share * (high - low)
        if (np.abs(point - last) <= scale).all():
            return point
        last, value = point, function(point)
        above = np.sign(value) == np.sign(at_high)
        # An end that is kept twice counts half, so that it gives way in the end.
        at_low = np.where(above & (side > 0), at_low / 2, at_low)
        at_high = np.where(~above & (side < 0), at_high / 2, at_high)
        low, at_low = np.where(above, low, point), np.where(above, at_low, value)
        high, at_high = np.where(above, point, high), np.where(above, value, at_high)
        side = np.where(above, 1.0, -1.0)
    return last
