"""The training split, for methods that explain by what there was to learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from exparity.core.calls import array_of
from exparity.core.errors import InputError
from exparity.engine.encoding import split_words
from exparity.interface import IntArray

Texts = Sequence[str | Sequence[str]]


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
        """Take strings, which are split at blanks, or lists of words, and class indices."""
        words = split_words(texts, "texts of training")
        indices = array_of(int, labels, "class indices of training")
        return cls(tuple(map(tuple, words)), indices)
