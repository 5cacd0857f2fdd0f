"""Token F1 of the highest words against the rationale (DeYoung et al. 2020)."""

from __future__ import annotations

import numpy as np

from exparity.metrics._rationale import Ranking, Selection, TopK, rationale_metric
from exparity.types import BoolArray, FloatArray


@rationale_metric(
    "rationale_token_f1",
    unit="F1",
    reference="DeYoung et al. 2020, doi:10.18653/v1/2020.acl-main.408, section 4.1",
    display="Token F1",
)
def rationale_token_f1(
    scores: FloatArray,
    rationale: BoolArray,
    word_mask: BoolArray,
    *,
    top_k: TopK = 5,
) -> FloatArray:
    r"""Harmonic mean of precision and recall of the k highest words.

    :math:`2 |S \cap R| / (|S| + |R|)`. Words with a score of 0 are never selected. Where the k-th
    word is one of several with equal scores, the value is the mean over all ways to choose among
    them.

    Args:
        scores: (n, w) attributions of words.
        rationale: (n, w) True for words of the rationale.
        word_mask: (n, w) True for words.
        top_k: k, at least 1; as many as the rationale has if None, and the mean length of all
            rationales of the dataset, rounded, if ``mean``.

    Returns:
        (n,) in [0, 1], higher is better; 0 if no word is selected, NaN where the rationale is
        empty.
    """
    ranked = Ranking(scores, rationale, word_mask)
    chosen = Selection(ranked, top_k, ranked.positive_scores)
    both = np.maximum(chosen.size + ranked.positives, 1)
    return ranked.defined(2 * chosen.expected_hits / both)
