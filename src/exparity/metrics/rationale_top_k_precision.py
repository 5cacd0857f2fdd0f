"""Precision of the highest words against the rationale (Arras et al. 2022)."""

from __future__ import annotations

import numpy as np

from exparity.metrics._rationale import Ranking, Selection, TopK, rationale_metric
from exparity.types import BoolArray, FloatArray


@rationale_metric(
    "rationale_top_k_precision",
    unit="precision",
    reference="Arras et al. 2022, doi:10.1016/j.inffus.2021.11.008, relevance rank accuracy",
    display="Top-k precision",
)
def rationale_top_k_precision(
    scores: FloatArray,
    rationale: BoolArray,
    word_mask: BoolArray,
    *,
    top_k: TopK = None,
) -> FloatArray:
    """Share of the k highest words that are of the rationale.

    Where the k-th word is one of several with equal scores, the value is the mean over all ways to
    choose among them.

    Args:
        scores: (n, w) attributions of words.
        rationale: (n, w) True for words of the rationale.
        word_mask: (n, w) True for words.
        top_k: k, at least 1 and at most the number of words; as many as the rationale has if None,
            and the mean length of all rationales of the dataset, rounded, if ``mean``.

    Returns:
        (n,) in [0, 1], higher is better; NaN where the rationale is empty.
    """
    ranked = Ranking(scores, rationale, word_mask)
    chosen = Selection(ranked, top_k, ranked.words)
    return ranked.defined(chosen.expected_hits / np.maximum(chosen.size, 1))
