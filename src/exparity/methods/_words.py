"""Words of the texts to explain, and of those that a model was trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exparity.core.calls import array_of, listed
from exparity.core.errors import InputError
from exparity.engine.encoding import parted
from exparity.types import Encoding, IntArray, Parts, TextLike, locked

Texts = Sequence[TextLike]


@dataclass(frozen=True, eq=False)
class Training:
    """Labelled texts that a classifier was trained on.

    Attributes:
        words: (n,) the words of each text.
        labels: (n,) class index of each.

    Raises:
        InputError: not one label each.
    """

    words: tuple[tuple[str, ...], ...]
    labels: IntArray

    def __post_init__(self) -> None:
        if self.labels.shape != (len(self.words),):
            raise InputError(
                f"training: {len(self.words)} texts but labels of shape {self.labels.shape}; give "
                "one class index per text"
            )

    @classmethod
    def of(cls, training: object) -> Training:
        """Take a pair of texts, as :func:`exparity.explain` does, and class indices."""
        pair = listed(training, "training", "two: texts and their class indices")
        if len(pair) != 2:
            raise InputError("training must be a pair: texts and their class indices")
        words = tuple(map(all_words, parted(pair[0], "texts of training")))
        return cls(words, locked(array_of(int, pair[1], "class indices of training")))


def all_words(text: Parts) -> tuple[str, ...]:
    """Return the words of a text, or those of both of a pair."""
    return (*text[0].words, *text[1].words) if isinstance(text, tuple) else text.words


def words_of(encoding: Encoding) -> dict[int, str]:
    """Return the words of a text that have tokens, by index, in order; whole if they were cut."""
    assert encoding.written is not None
    words = all_words(encoding.written)
    return {int(word): words[word] for word in np.unique(encoding.word_ids) if word >= 0}
