"""Matched sets: which values belong together, and one value a group for each set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from exparity.core.calls import shown
from exparity.core.errors import InputError
from exparity.interface import BoolArray, FloatArray, IntArray


def plain_ids(pairs: Sequence[Any] | None) -> list[str | None] | None:
    """Return ids of matched sets as text; None for a missing one, which data frames have as NaN."""
    if pairs is None:
        return None
    for position, id in enumerate(pairs):
        if not (id is None or isinstance(id, str | float | Integral)):
            raise InputError(f"pair {position} must be text, a number or None, not {shown(id)}")
    return [None if id is None or id != id else str(id) for id in pairs]


def set_index(pairs: Sequence[str | None] | None, kept: BoolArray) -> IntArray | None:
    """Number the matched sets of the values that are kept.

    Args:
        pairs: (n,) id of each value's set; None for a value without one.
        kept: (n,) which values to number.

    Returns:
        (kept.sum(),) number of each value's set; a value without one is a set of its own. None if
        no value has a set.
    """
    if pairs is None or all(p is None for p in pairs):
        return None
    rows = np.flatnonzero(kept).tolist()
    names = [f"row\x1f{i}" if pairs[i] is None else f"set\x1f{pairs[i]}" for i in rows]
    numbers = np.unique(np.array(names, dtype=str), return_inverse=True)[1]
    return np.asarray(numbers, dtype=np.int64)


def set_means(values: FloatArray, codes: IntArray, sets: IntArray, groups: int) -> FloatArray:
    """Return the mean of each group's values in each matched set.

    Args:
        values: (n,) scores.
        codes: (..., n) number of each value's group, below ``groups``.
        sets: (n,) number of each value's set, from 0.
        groups: how many groups there are.

    Returns:
        (..., m, groups) means; NaN where a set has no value of a group.
    """
    m = int(sets.max()) + 1 if sets.size else 0
    rows = codes.reshape(math.prod(codes.shape[:-1]), len(values))
    cells = (np.arange(len(rows))[:, None] * m + sets) * groups + rows
    size = len(rows) * m * groups
    counts = np.bincount(cells.ravel(), minlength=size)
    weights = np.broadcast_to(values, rows.shape).ravel()
    sums = np.bincount(cells.ravel(), weights=weights, minlength=size)
    with np.errstate(invalid="ignore"):
        means: FloatArray = sums / counts
    return means.reshape(*codes.shape[:-1], m, groups)


def complete(means: FloatArray) -> BoolArray:
    """(..., m) True for the sets that have a value of every group; see :func:`set_means`."""
    return np.asarray(~np.isnan(means).any(axis=-1))
