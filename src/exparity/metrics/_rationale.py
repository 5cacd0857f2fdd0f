"""Words in the order of their attribution, beside the rationale: for metrics of correctness."""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np

from exparity.core.flags import Count
from exparity.metrics import mean_length, metric
from exparity.metrics._arrays import row_sums
from exparity.types import BoolArray, FloatArray, IntArray

TopK = Count | Literal["mean"] | None
"""Words to select: so many, the mean length of the rationales, or as many as the rationale has."""

rationale_metric = partial(
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

    Words of equal score are a tie. Every position knows its tie, so that no value depends on the
    order within one.

    Args:
        scores: (n, w) attributions of words.
        rationale: (n, w) True for words of the rationale.
        word_mask: (n, w) True for words; the others are padding at the end.

    Attributes:
        in_rationale: (n, w) True where the word at this position is of the rationale.
        start: (n, w) first position of the tie.
        end: (n, w) last position of the tie.
        hits_before: (n, w) words of the rationale above the tie.
        misses_before: (n, w) words outside the rationale above the tie.
        hits: (n, w) words of the rationale down to the end of the tie.
        misses: (n, w) words outside the rationale down to the end of the tie.
        words: (n,) words of the text.
        positives: (n,) words of the rationale.
        negatives: (n,) words outside the rationale.
        positive_scores: (n,) words with a score above 0.
        undefined: (n,) True where the rationale is empty or a score is not finite.
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
    """The highest words of each text, where a tie at the end leaves open which.

    Args:
        ranked: the words in order.
        top_k: how many; the mean length of these texts' rationales, or that of each if None.
        eligible: (n,) how many may be selected at most, from the highest down.

    Attributes:
        size: (n,) words selected.
        sure: (n,) words of the rationale that are selected whatever the tie.
        drawn: (n,) words drawn from the tie.
        tied: (n,) words of the tie.
        tied_hits: (n,) words of the rationale in the tie.
    """

    def __init__(self, ranked: Ranking, top_k: TopK, eligible: IntArray) -> None:
        if top_k == "mean":
            top_k = mean_length(ranked.positives)
        self.size = np.minimum(ranked.positives if top_k is None else top_k, eligible)
        last = np.maximum(self.size - 1, 0)
        start, end = ranked.at(ranked.start, last), ranked.at(ranked.end, last)
        above = ranked.at(ranked.hits_before, last)
        self.sure = np.where(self.size > 0, above, 0)
        self.drawn = np.where(self.size > 0, self.size - start, 0)
        self.tied = end - start + 1
        self.tied_hits = ranked.at(ranked.hits, last) - above

    @property
    def expected_hits(self) -> FloatArray:
        """(n,) words of the rationale selected, in the mean over all ways to break the tie."""
        share = self.tied_hits / np.maximum(self.tied, 1)
        return np.asarray(self.sure + self.drawn * share, dtype=np.float64)
