"""Excess: what a score has over those of random explanations of the same text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exparity.core.errors import InputError
from exparity.interface import FloatArray


def excess(
    keys: Sequence[str],
    scores: FloatArray,
    random_keys: Sequence[str],
    random_scores: FloatArray,
) -> FloatArray:
    """Return each score minus the mean score of the same text's random explanations.

    Args:
        keys: (n,) example of each score.
        scores: (n,) scores; NaN where undefined.
        random_keys: (m,) example of each random score, in any order.
        random_scores: (m,) scores of random explanations, some of each example.

    Returns:
        (n,) in the metric's unit; NaN where a score or a random one is.

    Raises:
        InputError: an example has no random score.
    """
    examples, owners = np.unique(np.asarray(random_keys, dtype=str), return_inverse=True)
    means = np.bincount(owners, weights=random_scores) / np.bincount(owners)
    mean_of = dict(zip(examples.tolist(), means.tolist(), strict=True))
    missing = set(keys) - mean_of.keys()
    if missing:
        raise InputError(f"example '{min(missing)}' has no score of a random explanation")
    over: FloatArray = scores - np.array([mean_of[key] for key in keys], dtype=np.float64)
    return over
