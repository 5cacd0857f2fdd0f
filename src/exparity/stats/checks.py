"""What the comparisons refuse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from exparity.core.calls import array_of, listed, shown
from exparity.core.errors import InputError
from exparity.interface import FloatArray, IntArray
from exparity.stats.sets import plain_ids

MAX_RESAMPLES = 1_000_000


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
        ("resamples", resamples, 0 <= resamples <= MAX_RESAMPLES, f"0 to {MAX_RESAMPLES:,}"),
    ):
        if not sound:
            raise InputError(f"statistics.{name} must be {range_}, not {value}")


def samples(
    values: Sequence[float] | FloatArray,
    groups: Sequence[str],
    order: Sequence[str],
    pairs: Sequence[Any] | None,
) -> tuple[FloatArray, IntArray, list[str | None] | None]:
    """Return the values as an array, the number of each one's group in ``order``, and its set.

    Raises:
        InputError: lengths disagree, a value is infinite, ``order`` names fewer than two groups or
            one twice, or a value's group is not in it.
    """
    scores = array_of(float, values, "values")
    groups = listed(groups, "groups", "the group of each value")
    order = listed(order, "order", "groups")
    pairs = plain_ids(None if pairs is None else listed(pairs, "pairs", "ids of matched sets"))
    try:
        strangers = set(groups) - set(order)
    except TypeError:
        raise InputError("groups must be names; one is of a type that cannot name any") from None
    for name, other in (("groups", groups), ("pairs", pairs)):
        if other is not None and len(other) != len(scores):
            raise InputError(f"{len(scores)} values but {len(other)} {name}")
    if np.isinf(scores).any():
        raise InputError(f"value {int(np.flatnonzero(np.isinf(scores))[0])} is infinite")
    if len(order) < 2 or len(set(order)) < len(order):
        raise InputError(f"order must name two or more different groups, not {shown(order)}")
    if strangers:
        raise InputError(
            f"group '{min(map(str, strangers))}' is not one of {', '.join(map(str, order))}"
        )
    code = {group: i for i, group in enumerate(order)}
    return scores, np.array([code[group] for group in groups], dtype=np.int64), pairs
