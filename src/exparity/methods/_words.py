"""Words of the texts to explain, and of those that a model was trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from exparity.core.calls import array_of
from exparity.core.errors import InputError
from exparity.engine.encoding import split_words
from exparity.explanations import alignment
from exparity.types import Encoding, FloatArray, IntArray, Text

Texts = Sequence[Text]


@dataclass(frozen=True, eq=False)
class Training:
    """Labelled texts that a classifier was trained on.

    Attributes:
        words: (n,) the words of each text.
        labels: (n,) class index of each.
        memo: what methods computed of it once, for the texts of all batches.

    Raises:
        InputError: fewer than two texts, or not one label each.
    """

    words: tuple[tuple[str, ...], ...]
    labels: IntArray
    memo: dict[Any, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.labels.shape != (len(self.words),):
            raise InputError(
                f"training: {len(self.words)} texts but labels of shape {self.labels.shape}; give "
                "one class index per text"
            )
        if len(self.words) < 2:
            raise InputError(f"training: {len(self.words)} texts are too few; give at least 2")

    @classmethod
    def of(cls, texts: Texts, labels: Sequence[int] | IntArray) -> Training:
        """Take strings, which are split at blanks, or lists of words, and class indices.

        Words of both texts of a pair count alike.
        """
        words = split_words(texts, "texts of training")
        indices = array_of(int, labels, "class indices of training")
        own = ([*text[0], *text[1]] if isinstance(text, tuple) else text for text in words)
        return cls(tuple(map(tuple, own)), indices)


def words_of(encoding: Encoding) -> dict[int, str]:
    """Return the words of a text that have tokens, by index, in order.

    A word is what lies between the blanks around its tokens, so that one that was cut off within
    is whole again.
    """
    assert encoding.offsets is not None
    text, text_of_word = encoding.text, {}
    for word in np.unique(encoding.word_ids[encoding.word_ids >= 0]):
        spans = encoding.offsets[encoding.word_ids == word]
        start, end = int(spans[:, 0].min()), int(spans[:, 1].max())
        while start < end - 1 and text[start].isspace():  # some tokenizers count the blank before
            start += 1
        before, after = text.rfind(" ", 0, start) + 1, text.find(" ", end)
        text_of_word[int(word)] = text[before : after if after >= 0 else None]
    return text_of_word


def spread_over_tokens(encoding: Encoding, scores: dict[int, float]) -> FloatArray:
    """Share scores of words, by index, evenly among their tokens, so that they sum to it: (t,).

    Words that have none and special tokens get 0.
    """
    n_words = int(encoding.word_ids.max()) + 1
    of_words = np.array([scores.get(word, 0.0) for word in range(n_words)], dtype=np.float64)
    return alignment.shared(encoding.word_ids, of_words)
