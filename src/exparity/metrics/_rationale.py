"""What metrics of correctness share: attribution of words, and their order beside the rationale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from exparity.interface import BoolArray, Explanation, FloatArray, IntArray
from exparity.metrics._arrays import l1_normalised, pad, row_sums

Attribution = Literal["absolute", "positive"]


def word_arrays(
    explanations: Sequence[Explanation], attribution: Attribution
) -> tuple[FloatArray, BoolArray, BoolArray]:
    """Sum the attributions of tokens to those of words, and lay the rationale beside them.

    A word that no token belongs to, as the text was cut, has 0. So has every word of an explanation
    whose rationale is unknown: its rationale is empty.

    Args:
        explanations: with a rationale of one mark per word of the text.
        attribution: what counts of each token: its ``absolute`` value, or its ``positive`` part.

    Returns:
        (n, w) scores, not negative, all NaN where a token's is not finite; (n, w) True for words of
        the rationale; (n, w) True for words.
    """
    scores, marks, words = [], [], []
    for explanation in explanations:
        assert explanation.word_ids is not None
        counted = explanation.content_mask & (explanation.word_ids >= 0)
        owners = explanation.word_ids[counted]
        values = l1_normalised(explanation.scores, counted if counted.any() else None)[counted]
        values = np.abs(values) if attribution == "absolute" else np.maximum(values, 0.0)
        rationale = explanation.rationale
        size = int(owners.max(initial=0)) + 1 if rationale is None else len(rationale)
        scores.append(np.bincount(owners, weights=values, minlength=size))
        marks.append(np.zeros(size, dtype=bool) if rationale is None else np.asarray(rationale))
        words.append(np.ones(size, dtype=bool))
    return pad(scores), pad(marks), pad(words)


@dataclass(frozen=True)
class Ranking:
    """Words from the highest score down, and how many of the rationale are among the first ones.

    Words of equal score are a tie. Every position knows its tie, so that no value depends on the
    order within one.

    Attributes:
        in_rationale: (n, w) True where the word at this position is of the rationale.
        start: (n, w) first position of the tie.
        end: (n, w) last position of the tie.
        hits_before: (n, w) words of the rationale above the tie.
        hits: (n, w) words of the rationale down to the end of the tie.
        words: (n,) words of the text.
        positives: (n,) words of the rationale.
        positive_scores: (n,) words with a score above 0.
        undefined: (n,) True where the rationale is empty or a score is not finite.
    """

    in_rationale: BoolArray
    start: IntArray
    end: IntArray
    hits_before: IntArray
    hits: IntArray
    words: IntArray
    positives: IntArray
    positive_scores: IntArray
    undefined: BoolArray

    @property
    def negatives(self) -> IntArray:
        """(n,) words outside the rationale."""
        return self.words - self.positives

    @property
    def misses(self) -> IntArray:
        """(n, w) words outside the rationale down to the end of the tie."""
        return self.end + 1 - self.hits

    @property
    def misses_before(self) -> IntArray:
        """(n, w) words outside the rationale above the tie."""
        return self.start - self.hits_before

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


def ranking(scores: FloatArray, rationale: BoolArray, word_mask: BoolArray) -> Ranking:
    """Rank the words of each text.

    Args:
        scores: (n, w) attributions of words.
        rationale: (n, w) True for words of the rationale.
        word_mask: (n, w) True for words; the others are padding at the end.
    """
    finite = np.where(word_mask & np.isfinite(scores), scores, -np.inf)
    order = np.argsort(-finite, axis=1, kind="stable")
    ordered = np.take_along_axis(finite, order, axis=1)
    in_rationale = np.take_along_axis(rationale & word_mask, order, axis=1)
    positions = np.arange(scores.shape[1])[None, :]
    opens = np.ones_like(in_rationale)
    # Padding lies at the end and is a tie of its own; -inf == -inf.
    opens[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    closes = np.ones_like(in_rationale)
    closes[:, :-1] = opens[:, 1:]
    start = np.maximum.accumulate(np.where(opens, positions, 0), axis=1)
    last = np.where(closes, positions, scores.shape[1])
    end = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
    found = in_rationale.cumsum(axis=1)
    before = np.take_along_axis(found - in_rationale, start, axis=1)
    positives = in_rationale.sum(axis=1)
    return Ranking(
        in_rationale=in_rationale,
        start=start,
        end=end,
        hits_before=before,
        hits=np.take_along_axis(found, end, axis=1),
        words=word_mask.sum(axis=1),
        positives=positives,
        positive_scores=((scores > 0) & word_mask).sum(axis=1),
        undefined=(positives == 0) | (np.isnan(scores) & word_mask).any(axis=1),
    )


@dataclass(frozen=True)
class Selection:
    """The highest words of each text, where a tie at the end leaves open which.

    Attributes:
        size: (n,) words selected.
        sure: (n,) words of the rationale that are selected whatever the tie.
        drawn: (n,) words drawn from the tie.
        tied: (n,) words of the tie.
        tied_hits: (n,) words of the rationale in the tie.
    """

    size: IntArray
    sure: IntArray
    drawn: IntArray
    tied: IntArray
    tied_hits: IntArray

    @property
    def expected_hits(self) -> FloatArray:
        """(n,) words of the rationale selected, in the mean over all ways to break the tie."""
        share = self.tied_hits / np.maximum(self.tied, 1)
        return np.asarray(self.sure + self.drawn * share, dtype=np.float64)


def select(ranked: Ranking, size: IntArray) -> Selection:
    """Select the highest words of each text.

    Args:
        ranked: the words in order.
        size: (n,) how many; at most as many as there are words.
    """
    last = np.maximum(size - 1, 0)
    chosen = size > 0
    start, end = ranked.at(ranked.start, last), ranked.at(ranked.end, last)
    sure = ranked.at(ranked.hits_before, last)
    return Selection(
        size=size,
        sure=np.where(chosen, sure, 0),
        drawn=np.where(chosen, size - start, 0),
        tied=end - start + 1,
        tied_hits=ranked.at(ranked.hits, last) - sure,
    )


def select_positive(ranked: Ranking, top_k: int | None) -> Selection:
    """Select the ``top_k`` highest words, but none with a score of 0.

    Args:
        ranked: the words in order.
        top_k: how many; as many as the rationale has if None.
    """
    wanted = ranked.positives if top_k is None else np.full_like(ranked.positives, top_k)
    return select(ranked, np.minimum(wanted, ranked.positive_scores))
