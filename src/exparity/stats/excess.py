"""Excess: what a score has over those of random explanations of the same text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from exparity.core.errors import InputError
from exparity.types import FloatArray


def mean_by_example(keys: Sequence[str], scores: FloatArray) -> dict[str, float]:
    """Return the mean score of each example's random explanations."""
    examples, owners = np.unique(np.asarray(keys, dtype=str), return_inverse=True)
    means = np.bincount(owners, weights=scores) / np.bincount(owners)
    return dict(zip(examples.tolist(), means.tolist(), strict=True))


def excess(keys: Sequence[str], scores: FloatArray, random: Mapping[str, float]) -> FloatArray:
    """Return each score minus the mean score of the same text's random explanations."""
    missing = set(keys) - random.keys()
    if missing:
        raise InputError(f"example '{min(missing)}' has no score of a random explanation")
    over: FloatArray = scores - np.array([random[key] for key in keys], dtype=np.float64)
    return over
