"""Messages: the words that explanations name, for metrics of what these tell a reader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np

from exparity.core.errors import InputError
from exparity.core.flags import Range
from exparity.explanations import Explanation
from exparity.types import IntArray, Text, locked


class Cohort(NamedTuple):
    """Facts of the texts that are scored together, one of each a text.

    Attributes:
        decisions: class that the classifier predicts.
        sets: matched set, whose texts differ in little more than their group; a text without one is
            a set of its own.
        groups: group.
    """

    decisions: Sequence[int]
    sets: Sequence[str]
    groups: Sequence[str]


class Messages(NamedTuple):
    """Words that explanations name, and what a reader is to find out by them.

    Attributes:
        words: (n,) sets of words in lower case.
        decisions: (n,) class that the classifier predicts, which was explained.
        sets: (n,) matched set of each text.
        groups: (n,) group of each text.
    """

    words: Sequence[frozenset[str]]
    decisions: IntArray
    sets: Sequence[str]
    groups: Sequence[str]


def message_options(*, share: Annotated[float, Range(above=0, at_most=1)] = 0.2) -> None:
    """Options that every metric of messages has.

    Args:
        share: share of a text's words that its message has, at least one word.
    """


def messages_of(
    explanations: Sequence[Explanation], keys: Sequence[str], cohort: Cohort, share: float
) -> tuple[IntArray, Messages]:
    """Return the places of the explanations that have a message, and the messages.

    An explanation of another class than the predicted one has none, nor has one with a score that
    is not finite. Messages are in the order of ``keys``, so that no value depends on that of the
    explanations.
    """
    words_by_place = {
        place: named_words(explanation, share)
        for place, explanation in enumerate(explanations)
        if explanation.target == cohort.decisions[place] and np.isfinite(explanation.scores).all()
    }
    places = sorted(
        words_by_place, key=lambda at: (keys[at], cohort.decisions[at], sorted(words_by_place[at]))
    )
    messages = Messages(
        [words_by_place[place] for place in places],
        locked(np.array([cohort.decisions[place] for place in places], dtype=np.int64)),
        [cohort.sets[place] for place in places],
        [cohort.groups[place] for place in places],
    )
    return np.array(places, dtype=np.int64), messages


def named_words(explanation: Explanation, share: float) -> frozenset[str]:
    """Return the words of the largest sums of signed attributions, the earlier of equal ones.

    Words that no token belongs to, as the text was cut, do not count.

    Raises:
        InputError: the tokens are of more words than the text has.
    """
    assert explanation.word_ids is not None
    counted = explanation.content_mask & (explanation.word_ids >= 0)
    owners = explanation.word_ids[counted]
    numbers = np.flatnonzero(np.bincount(owners))
    sums = np.bincount(owners, weights=explanation.scores[counted])[numbers]
    count = max(1, int(share * len(numbers) + 0.5))
    named = numbers[np.argsort(-sums, kind="stable")[:count]]
    both = explanation.pair and (Text.of(explanation.pair[0]), Text.of(explanation.pair[1]))
    parts = explanation.written or both or Text.of(explanation.text)
    texts = parts if isinstance(parts, tuple) else (parts,)
    words = [word for text in texts for word in text.words]
    if numbers.max(initial=-1) >= len(words):
        raise InputError(
            f"explanation of {explanation.text!r}: its tokens are of {int(numbers.max()) + 1} "
            f"words, and the text of {len(words)}; give the text with its words, as `written`"
        )
    return frozenset(words[number].lower() for number in named)
