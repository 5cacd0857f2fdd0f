"""Words in the order of their attribution, against the rationale: metrics of correctness.

Precision, recall and their kin as DeYoung et al. 2020, Wilming et al. 2022 and 2024 and Arras et
al. 2022 have them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Literal

import numpy as np

from exparity.core.flags import Count, Range
from exparity.metrics import mean_length, metric
from exparity.metrics._arrays import marked_share, row_sums
from exparity.types import BoolArray, FloatArray, IntArray

TopK = Count | Literal["mean"] | None
"""Words to select: so many, the mean length of the rationales, or as many as the rationale has."""

_rationale_metric = partial(
    metric,
    direction="higher",
    bounds=(0.0, 1.0),
    kind="correctness",
    needs="rationale",
    skill="ratio",
    stochastic=False,
)


class Ranking:
    """Words from the highest score down, and how many of the rationale are among the first ones.

    Words of equal score are a tie. Every position of the (n, w) arrays knows its tie, by its first
    position (``start``) and its last (``end``), so that no value depends on the order within one.
    ``hits`` are words of the rationale down to the end of the tie, ``misses`` the others;
    ``…_before`` counts those above it. ``undefined`` are texts without a rationale, or with a score
    that is not finite.
    """

    def __init__(self, scores: FloatArray, rationale: BoolArray, word_mask: BoolArray) -> None:
        from scipy.stats import rankdata

        # Padding lies at the end and is a tie of its own.
        falling = -np.where(word_mask & np.isfinite(scores), scores, -np.inf)
        order = np.argsort(falling, axis=1, kind="stable")
        ordered = np.take_along_axis(falling, order, axis=1)
        self.in_rationale = np.take_along_axis(rationale & word_mask, order, axis=1)
        self.start = rankdata(ordered, "min", axis=1).astype(np.int64) - 1
        self.end = rankdata(ordered, "max", axis=1).astype(np.int64) - 1
        hits = self.in_rationale.cumsum(axis=1)
        self.positives = self.in_rationale.sum(axis=1)
        self.hits_before = np.take_along_axis(hits - self.in_rationale, self.start, axis=1)
        self.misses_before = self.start - self.hits_before
        self.hits = np.take_along_axis(hits, self.end, axis=1)
        self.misses = self.end + 1 - self.hits
        self.words = word_mask.sum(axis=1)
        self.negatives = self.words - self.positives
        self.positive_scores = ((scores > 0) & word_mask).sum(axis=1)
        not_finite = (np.isnan(scores) & word_mask).any(axis=1)
        self.undefined = (self.positives == 0) | not_finite

    def at(self, values: IntArray, position: IntArray) -> IntArray:
        """Return each row's value at its position."""
        return np.asarray(np.take_along_axis(values, position[:, None], axis=1)[:, 0])

    def defined(self, values: FloatArray) -> FloatArray:
        """Return values, NaN where a ranking says nothing."""
        return np.where(self.undefined, np.nan, values)

    def mean_over_rationale(self, values: FloatArray) -> FloatArray:
        """Return each row's mean of (n, w) values over the words of the rationale."""
        total = row_sums(np.where(self.in_rationale, values, 0.0))
        return self.defined(total / np.maximum(self.positives, 1))


class Selection:
    """The (n,) highest words of each text, where a tie at the end leaves open which.

    ``sure`` words of the rationale are selected whatever the tie, and ``drawn`` words come from
    the ``tied`` ones, ``tied_hits`` of them from the rationale.
    """

    def __init__(self, ranked: Ranking, top_k: TopK, eligible: IntArray) -> None:
        if top_k == "mean":
            top_k = mean_length(ranked.positives)
        self.size = np.minimum(ranked.positives if top_k is None else top_k, eligible)
        last = np.maximum(self.size - 1, 0)
        start = ranked.at(ranked.start, last)
        end = ranked.at(ranked.end, last)
        self.sure = ranked.at(ranked.hits_before, last)
        self.drawn = self.size - start
        self.tied = end - start + 1
        self.tied_hits = ranked.at(ranked.hits, last) - self.sure

    @property
    def expected_hits(self) -> FloatArray:
        """(n,) words of the rationale selected, in the mean over all ways to break the tie."""
        share = self.tied_hits / np.maximum(self.tied, 1)
        return np.asarray(self.sure + self.drawn * share, dtype=np.float64)


def _share_at_random(words: IntArray, marked: IntArray, **options: object) -> FloatArray:
    """Return the share of marked words, which every word has as its chance to be one."""
    return np.asarray(marked / words, dtype=np.float64)


def _area_at_random(words: IntArray, marked: IntArray, **options: object) -> FloatArray:
    """Return one half, where some words are not marked."""
    return np.where((marked > 0) & (marked < words), 0.5, np.nan)


def _precision_at_random(
    words: IntArray, marked: IntArray, *, interpolation: str = "step", **options: object
) -> FloatArray:
    """Return the expected average precision.

    A marked word of rank r has one hit, and of the r − 1 words above it a share (k − 1) / (n − 1).
    """
    if interpolation != "step":
        return np.full(len(words), np.nan)
    others = (marked - 1) / np.maximum(words - 1, 1)
    harmonic = np.cumsum(1 / np.arange(1, int(words.max(initial=1)) + 1))[words - 1]
    expected = others + (1 - others) * harmonic / words
    return np.where(marked > 0, expected, np.nan)


def _selected_at_random(
    words: IntArray,
    marked: IntArray,
    value_of: Callable[[IntArray, IntArray], FloatArray],
    top_k: TopK,
) -> FloatArray:
    """Return the expected value of a function of hits and words selected, of words at random."""
    from scipy.stats import hypergeom

    if top_k == "mean":
        top_k = mean_length(marked)
    size = np.minimum(marked if top_k is None else top_k, words)
    hits = np.arange(int(size.max(initial=0)) + 1)[:, None]
    chances = hypergeom.pmf(hits, words, marked, size)
    expected = np.where(chances > 0, chances * value_of(hits, size), 0.0).sum(axis=0)
    return np.where(marked > 0, expected, np.nan)


def _f1_at_random(
    words: IntArray, marked: IntArray, *, top_k: TopK = 5, **options: object
) -> FloatArray:
    """Return the expected F1 of the k highest words."""
    return _selected_at_random(
        words, marked, lambda hits, size: 2 * hits / np.maximum(size + marked, 1), top_k
    )


def _iou_at_random(
    words: IntArray, marked: IntArray, *, top_k: TopK = 5, **options: object
) -> FloatArray:
    """Return the expected share of shared words of the k highest and the marked ones."""
    return _selected_at_random(
        words, marked, lambda hits, size: hits / np.maximum(size + marked - hits, 1), top_k
    )


@_rationale_metric(
    "mass_accuracy",
    at_random=_share_at_random,
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
    return marked_share(scores, rationale, word_mask)


@_rationale_metric(
    "rationale_roc_auc",
    at_random=_area_at_random,
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
    "rationale_auprc",
    at_random=_precision_at_random,
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
    return ranked.mean_over_rationale(precision)


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
    hits = ranked.at(ranked.hits, np.maximum(selected - 1, 0))
    precision = np.where(selected > 0, hits / np.maximum(selected, 1), 0.0)
    return np.where(ranked.negatives > 0, ranked.defined(precision), np.nan)


@_rationale_metric(
    "rationale_top_k_precision",
    at_random=_share_at_random,
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


@_rationale_metric(
    "rationale_token_f1",
    at_random=_f1_at_random,
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


@_rationale_metric(
    "rationale_iou",
    at_random=_iou_at_random,
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
