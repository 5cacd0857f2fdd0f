"""What the comparisons refuse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from exparity.errors import InputError
from exparity.interface import FloatArray, IntArray


def check_options(
    *, alpha: float, threshold: float, ddof: int, confidence: float, resamples: int
) -> None:
    """Refuse options that are out of range.

    Raises:
        InputError: names the key of the config and what it may be.
    """
    for name, value, sound, range_ in (
        ("alpha", alpha, 0 < alpha < 1, "between 0 and 1"),
        ("confidence", confidence, 0 < confidence < 1, "between 0 and 1"),
        ("threshold", threshold, threshold >= 0, "0 or more"),
        ("ddof", ddof, ddof in (0, 1), "0 or 1"),
        ("resamples", resamples, resamples >= 0, "0 or more"),
    ):
        if not sound:
            raise InputError(f"statistics.{name} must be {range_}, not {value}")


def checked(
    values: Sequence[float] | FloatArray,
    groups: Sequence[str],
    order: Sequence[str],
    pairs: Sequence[Any] | None,
) -> tuple[FloatArray, IntArray]:
    """Return the values as an array, and the number of each one's group in ``order``.

    Raises:
        InputError: lengths disagree, a value is infinite, ``order`` names fewer than two groups or
            one twice, or a value's group is not in it.
    """
    scores = np.array(values, dtype=np.float64)
    if scores.ndim != 1:
        raise InputError(f"values must be one number per example; got shape {scores.shape}")
    for name, other in (("groups", groups), ("pairs", pairs)):
        if other is not None and len(other) != len(scores):
            raise InputError(f"{len(scores)} values but {len(other)} {name}")
    if np.isinf(scores).any():
        raise InputError(f"value {int(np.flatnonzero(np.isinf(scores))[0])} is infinite")
    if len(order) < 2 or len(set(order)) < len(order):
        raise InputError(f"order must name two or more different groups, not {order!r}")
    strangers = set(groups) - set(order)
    if strangers:
        raise InputError(f"group '{min(map(str, strangers))}' is not one of {', '.join(order)}")
    code = {group: i for i, group in enumerate(order)}
    return scores, np.array([code[group] for group in groups], dtype=np.int64)
