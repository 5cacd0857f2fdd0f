"""Precision at a given specificity of the words (Wilming et al. 2022)."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from exparity.core.flags import Range
from exparity.metrics._rationale import Ranking, rationale_metric
from exparity.types import BoolArray, FloatArray


@rationale_metric(
    "rationale_precision_at_specificity",
    unit="precision",
    reference="Wilming et al. 2022, doi:10.1007/s10994-022-06167-y",
    display="Precision at specificity",
)
def rationale_precision_at_specificity(
    scores: FloatArray,
    rationale: BoolArray,
    word_mask: BoolArray,
    *,
    specificity: Annotated[float, Range(above=0, at_most=1)] = 0.9,
) -> FloatArray:
    """Precision of as many words as leave out the given share of those outside the rationale.

    The threshold is the lowest of the scores at which the specificity is at least the given one.
    Where no score is such a threshold, no word can be selected and the value is 0.

    Args:
        scores: (n, w) attributions of words.
        rationale: (n, w) True for words of the rationale.
        word_mask: (n, w) True for words.
        specificity: least share of the words outside the rationale that must score below the
            threshold, above 0 and at most 1.

    Returns:
        (n,) in [0, 1], higher is better; NaN where the rationale is empty or holds every word.
    """
    ranked = Ranking(scores, rationale, word_mask)
    # Rounding must not turn 90 % of ten words into less than nine.
    allowed = np.floor((1 - specificity) * ranked.negatives + 1e-9)
    selected = np.where(ranked.misses <= allowed[:, None], ranked.end + 1, 0).max(axis=1)
    selected = np.minimum(selected, ranked.words)
    hits = ranked.at(ranked.hits, np.maximum(selected - 1, 0))
    precision = np.where(selected > 0, hits / np.maximum(selected, 1), 0.0)
    return np.where(ranked.negatives > 0, ranked.defined(precision), np.nan)
