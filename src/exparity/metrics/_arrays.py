"""Explanations as padded arrays, and arithmetic that metrics share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from exparity.explanations import Explanation
from exparity.types import BoolArray, FloatArray, IntArray, Item

Attribution = Literal["absolute", "positive"]


def pad(rows: Sequence[NDArray[Item]]) -> NDArray[Item]:
    """Stack vectors of different length to (n, t), padded at the end with 0 or False."""
    width = max(len(row) for row in rows)
    stacked = np.zeros((len(rows), width), dtype=rows[0].dtype)
    for index, row in enumerate(rows):
        stacked[index, : len(row)] = row
    return stacked


def descending(values: FloatArray, mask: BoolArray) -> IntArray:
    """Return the places under a (t,) mask by falling (t,) value, of equal ones the later first."""
    places = np.flatnonzero(mask)
    return places[np.argsort(values[places], kind="stable")[::-1]]


def row_sums(values: FloatArray) -> FloatArray:
    """Sum (n, t) values over t from the first to the last.

    numpy's own sum groups its terms by the width, so that padding would change a row's bits.
    """
    return np.asarray(values.cumsum(axis=1)[:, -1], dtype=np.float64)


def mean_length(lengths: Sequence[int] | IntArray) -> int:
    """Return the mean number of words in rationales that have any, rounded; at least 1."""
    positive = np.asarray(lengths)[np.asarray(lengths) > 0]
    return max(1, int(positive.mean() + 0.5)) if positive.size else 1


def l1_normalised(scores: FloatArray, mask: BoolArray | None = None) -> FloatArray:
    """Divide (t,) scores by their L1 norm, that under a mask if any; NaN unless all are finite."""
    if not np.isfinite(scores).all():
        return np.full(len(scores), np.nan)
    counted = scores if mask is None else scores[mask]
    peak = np.abs(counted).max(initial=0.0)
    if peak == 0:
        return scores.astype(np.float64)
    # By the peak first: the sum of huge or tiny scores leaves the range of floats.
    scaled = scores / peak
    return np.asarray(scaled / np.abs(counted / peak).sum(), dtype=np.float64)


def word_arrays(
    explanations: Sequence[Explanation], attribution: Attribution
) -> tuple[FloatArray, BoolArray, BoolArray]:
    """Sum attributions of tokens to (n, w) of words; return these, rationales and word masks.

    Scores are not negative, and all NaN where a token's is not finite. A word without a token, as
    the text was cut, has 0; so has every word where the rationale is unknown, which is empty then.
    """
    scores = []
    marks = []
    words = []
    for explanation in explanations:
        assert explanation.word_ids is not None
        counted = explanation.content_mask & (explanation.word_ids >= 0)
        owners = explanation.word_ids[counted]
        values = l1_normalised(explanation.scores, counted if counted.any() else None)[counted]
        values = np.abs(values) if attribution == "absolute" else np.maximum(values, 0.0)
        rationale = explanation.rationale
        size = int(owners.max(initial=0)) + 1 if rationale is None else len(rationale)
        sums = np.bincount(owners, weights=values, minlength=size)
        scores.append(np.asarray(sums, dtype=np.float64))
        marks.append(np.zeros(size, dtype=bool) if rationale is None else np.asarray(rationale))
        words.append(np.ones(size, dtype=bool))
    return pad(scores), pad(marks), pad(words)


def marked_share(scores: FloatArray, marks: BoolArray, word_mask: BoolArray) -> FloatArray:
    """Return the (n,) share in [0, 1] of attribution on marked words; NaN without any."""
    total = row_sums(np.where(word_mask, scores, 0.0))
    on_marked = row_sums(np.where(marks & word_mask, scores, 0.0))
    share = np.full(len(scores), np.nan)
    np.divide(on_marked, total, out=share, where=total > 0)
    return np.where((marks & word_mask).any(1), share, np.nan)
