"""ROC AUC of the words against the rationale (Wilming et al. 2022)."""

from __future__ import annotations

import numpy as np

from exparity.metrics._rationale import Ranking, rationale_metric
from exparity.types import BoolArray, FloatArray


@rationale_metric(
    "rationale_roc_auc",
    unit="probability",
    reference="Wilming et al. 2022, doi:10.1007/s10994-022-06167-y",
    display="Rationale ROC AUC",
)
def rationale_roc_auc(scores: FloatArray, rationale: BoolArray, word_mask: BoolArray) -> FloatArray:
    """Chance that a word of the rationale scores higher than another word; a tie counts half.

    Args:
        scores: (n, w) attributions of words.
        rationale: (n, w) True for words of the rationale.
        word_mask: (n, w) True for words.

    Returns:
        (n,) in [0, 1], higher is better, 0.5 by chance; NaN where the rationale is empty or holds
        every word.
    """
    ranked = Ranking(scores, rationale, word_mask)
    negatives = ranked.negatives[:, None]
    below = negatives - (ranked.misses + ranked.misses_before) / 2  # (n, w)
    area = ranked.mean_over_rationale(below / np.maximum(negatives, 1))
    return np.where(ranked.negatives > 0, area, np.nan)
