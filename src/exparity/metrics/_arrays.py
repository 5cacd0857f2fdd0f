"""Array helpers that metrics share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exparity.interface import BoolArray, FloatArray, IntArray


def pad(rows: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Stack vectors of different length to (n, t), padded at the end with 0 or False."""
    width = max(len(row) for row in rows)
    stacked = np.zeros((len(rows), width), dtype=rows[0].dtype)
    for index, row in enumerate(rows):
        stacked[index, : len(row)] = row
    return stacked


def descending(values: FloatArray, mask: BoolArray) -> IntArray:
    """Return the places under a mask by falling value, of equal ones the later first.

    Args:
        values: (t,) what to order by.
        mask: (t,) True for the m places that count.

    Returns:
        (m,) indices into ``values``.
    """
    places = np.flatnonzero(mask)
    return places[np.argsort(values[places], kind="stable")[::-1]]


def row_sums(values: FloatArray) -> FloatArray:
    """Sum (n, t) values over t from the first to the last.

    numpy's own sum groups its terms by the width, so that padding would change a row's bits.
    """
    return np.asarray(values.cumsum(axis=1)[:, -1], dtype=np.float64)


def l1_normalised(scores: FloatArray, mask: BoolArray | None = None) -> FloatArray:
    """Divide scores by their L1 norm.

    Args:
        scores: (t,) attributions.
        mask: (t,) True for the tokens whose norm counts; all if None.

    Returns:
        (t,) float64; unchanged where the norm is zero, all NaN where a score is not finite.
    """
    if not np.isfinite(scores).all():
        return np.full(len(scores), np.nan)
    counted = scores if mask is None else scores[mask]
    peak = np.abs(counted).max(initial=0.0)
    if peak == 0:
        return scores.astype(np.float64)
    # By the peak first: the sum of huge or tiny scores leaves the range of floats.
    scaled = scores / peak
    return np.asarray(scaled / np.abs(counted / peak).sum(), dtype=np.float64)
