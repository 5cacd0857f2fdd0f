"""Overlap of the highest words with the rationale (DeYoung et al. 2020)."""

from __future__ import annotations

import numpy as np

from exparity.metrics._rationale import Ranking, Selection, TopK, rationale_metric
from exparity.types import BoolArray, FloatArray


@rationale_metric(
    "rationale_iou",
    unit="share",
    reference="DeYoung et al. 2020, doi:10.18653/v1/2020.acl-main.408, section 4.1",
    display="Token IoU",
)
def rationale_iou(
    scores: FloatArray,
    rationale: BoolArray,
    word_mask: BoolArray,
    *,
    top_k: TopK = 5,
) -> FloatArray:
    r"""Words that the k highest and the rationale share, of those in either.

    :math:`|S \cap R| / |S \cup R|`. Words with a score of 0 are never selected. Where the k-th word
    is one of several with equal scores, the value is the mean over all ways to choose among them.

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
    from scipy.stats import hypergeom

    ranked = Ranking(scores, rationale, word_mask)
    chosen = Selection(ranked, top_k, ranked.positive_scores)
    value = np.zeros(len(scores))
    for more in range(int(chosen.drawn.max(initial=0)) + 1):  # hits among the words drawn
        chance = hypergeom.pmf(more, chosen.tied, chosen.tied_hits, chosen.drawn)  # (n,)
        hits = chosen.sure + more
        union = chosen.size + ranked.positives - hits
        value += np.where(chance > 0, chance * hits / np.maximum(union, 1), 0.0)
    return ranked.defined(np.minimum(value, 1.0))
