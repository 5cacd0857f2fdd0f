"""Share of the attribution on words that are marked."""

from __future__ import annotations

import numpy as np

from exparity.metrics._arrays import row_sums
from exparity.types import BoolArray, FloatArray


def marked_share(scores: FloatArray, marks: BoolArray, word_mask: BoolArray) -> FloatArray:
    """Return the (n,) share in [0, 1] of attribution on marked words; NaN without any."""
    total = row_sums(np.where(word_mask, scores, 0.0))
    on_marked = row_sums(np.where(marks & word_mask, scores, 0.0))
    share = np.full(len(scores), np.nan)
    np.divide(on_marked, total, out=share, where=total > 0)
    return np.where((marks & word_mask).any(1), share, np.nan)
