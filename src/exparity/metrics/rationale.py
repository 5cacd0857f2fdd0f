"""Metrics of correctness: attributions of words against the rationale."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

import numpy as np

from exparity.interface import BoolArray, Count, FloatArray, Range
from exparity.metrics import metric
from exparity.metrics._arrays import row_sums
from exparity.metrics._rationale import Ranking, Selection

_rationale_metric = partial(
    metric,
    direction="higher",
    bounds=(0.0, 1.0),
    kind="correctness",
    needs="rationale",
    stochastic=False,
)


@_rationale_metric(
    "mass_accuracy",
    unit="share",
    reference="Wilming et al. 2024, GECOBench, arXiv:2406.11547, equation 3",
    display="Mass accuracy",
)
def mass_accuracy(scores: FloatArray, rationale: BoolArray, word_mask: BoolArray) -> FloatArray:
    r"""Share of the attribution that lies on words of the rationale.

    :math:`\sum_{j \in R} s_j / \sum_j s_j` over the words. A rationale word that is left out costs
    nothing as long as the others hold the mass.

    Args:
        scores: (n, w) attributions of words, not negative.
        rationale: (n, w) True for words of the rationale.
        word_mask: (n, w) True for words.

    Returns:
        (n,) in [0, 1], higher is better; NaN where the rationale is empty or all scores are zero.
    """
    total = row_sums(np.where(word_mask, scores, 0.0))
    on_rationale = row_sums(np.where(rationale & word_mask, scores, 0.0))
    share = np.full(len(scores), np.nan)
    np.divide(on_rationale, total, out=share, where=total > 0)
    return np.where((rationale & word_mask).any(1), share, np.nan)


@_rationale_metric(
    "rationale_auprc",
    unit="precision",
    reference="DeYoung et al. 2020, doi:10.18653/v1/2020.acl-main.408, section 4.1",
    display="Rationale AUPRC",
)
def rationale_auprc(
    scores: FloatArray,
    rationale: BoolArray,
    word_mask: BoolArray,
    *,
    interpolation: Literal["step", "linear"] = "step",
) -> FloatArray:
    """Area under precision against recall, over the thresholds that the scores give.

    Args:
        scores: (n, w) attributions of words.
        rationale: (n, w) True for words of the rationale.
        word_mask: (n, w) True for words.
        interpolation: ``step`` is average precision; ``linear`` joins the points by straight lines,
            from precision 1 at recall 0, and is more optimistic.

    Returns:
        (n,) in [0, 1], higher is better; the rationale's share of words if all scores are equal
        (``step``). NaN where the rationale is empty.
    """
    ranked = Ranking(scores, rationale, word_mask)
    precision = ranked.hits / (ranked.end + 1)  # (n, w)
    if interpolation == "linear":
        before = np.where(ranked.start > 0, ranked.hits_before / np.maximum(ranked.start, 1), 1.0)
        precision = (precision + before) / 2
    # Every word of the rationale adds the same recall.
    return np.asarray(np.minimum(ranked.mean_over_rationale(precision), 1.0), dtype=np.float64)


@_rationale_metric(
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


@_rationale_metric(
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


@_rationale_metric(
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
    top_k: Count | None = None,
) -> FloatArray:
    """Share of the k highest words that are of the rationale.

    Where the k-th word is one of several with equal scores, the value is the mean over all ways to
    choose among them.

    Args:
        scores: (n, w) attributions of words.
        rationale: (n, w) True for words of the rationale.
        word_mask: (n, w) True for words.
        top_k: k, at least 1 and at most the number of words; as many as the rationale has if None.

    Returns:
        (n,) in [0, 1], higher is better; NaN where the rationale is empty.
    """
    ranked = Ranking(scores, rationale, word_mask)
    chosen = Selection(ranked, top_k, ranked.words)
    return ranked.defined(chosen.expected_hits / np.maximum(chosen.size, 1))


@_rationale_metric(
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
    top_k: Count | None = 5,
) -> FloatArray:
    r"""Harmonic mean of precision and recall of the k highest words.

    :math:`2 |S \cap R| / (|S| + |R|)`. Words with a score of 0 are never selected. Where the k-th
    word is one of several with equal scores, the value is the mean over all ways to choose among
    them.

    Args:
        scores: (n, w) attributions of words.
        rationale: (n, w) True for words of the rationale.
        word_mask: (n, w) True for words.
        top_k: k, at least 1; as many as the rationale has if None.

    Returns:
        (n,) in [0, 1], higher is better; 0 if no word is selected, NaN where the rationale is
        empty.
    """
    ranked = Ranking(scores, rationale, word_mask)
    chosen = Selection(ranked, top_k, ranked.positive_scores)
    both = np.maximum(chosen.size + ranked.positives, 1)
    return ranked.defined(2 * chosen.expected_hits / both)


@_rationale_metric(
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
    top_k: Count | None = 5,
) -> FloatArray:
    r"""Words that the k highest and the rationale share, of those in either.

    :math:`|S \cap R| / |S \cup R|`. Words with a score of 0 are never selected. Where the k-th word
    is one of several with equal scores, the value is the mean over all ways to choose among them.

    Args:
        scores: (n, w) attributions of words.
        rationale: (n, w) True for words of the rationale.
        word_mask: (n, w) True for words.
        top_k: k, at least 1; as many as the rationale has if None.

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
