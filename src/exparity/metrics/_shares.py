"""Share of the attribution on words that are marked."""

from __future__ import annotations

import numpy as np

from exparity.metrics._arrays import row_sums
from exparity.types import BoolArray, FloatArray


def marked_share(scores: FloatArray, marks: BoolArray, word_mask: BoolArray) -> FloatArray:
    """Return the share of the attribution that lies on marked words.

    Args:
        scores: (n, w) attributions of words, not negative.
        marks: (n, w) True for marked words.
        word_mask: (n, w) True for words.

    Returns:
        (n,) in [0, 1]; NaN where no word is marked or all scores are zero.
    """
    total = row_sums(np.where(word_mask, scores, 0.0))
    on_marked = row_sums(np.where(marks & word_mask, scores, 0.0))
    share = np.full(len(scores), np.nan)
    np.divide(on_marked, total, out=share, where=total > 0)
    return np.where((marks & word_mask).any(1), share, np.nan)
