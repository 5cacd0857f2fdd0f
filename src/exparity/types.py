"""Data that every other module may import: texts as people and models see them, and labelled ones.

Axis letters used throughout the package: ``n`` examples, ``t`` tokens, ``k`` steps, ``c`` classes,
``h`` hidden.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeGuard, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
Text = str | Sequence[str] | tuple[str | Sequence[str], str | Sequence[str]]
"""A text, or its words; a tuple of two of these is a pair of texts."""
Words = list[str] | tuple[list[str], list[str]]
"""The words of a text, or of both texts of a pair."""
Split = Literal["train", "test"]
Guarded = TypeVar("Guarded")

SPECIAL_WORD = -1
"""Word index of a token that belongs to no word ([CLS], [SEP], <s>, ...)."""
FRAME_WORD = -2
"""Word index of a token of the prompt around a text, which nothing masks, moves or scores."""


class Falls(NamedTuple):
    """How far a text's target falls as steps change the text, each from the whole text.

    Attributes:
        sizes: (k,) tokens that each step takes; 0 each where steps are draws.
        probability: (..., k) fall in the target's probability, in [−1, 1].
        log_odds: (..., k) fall in its log odds, by float32 logits: other than probabilities, they
            still differ where these are 0 or 1 but for rounding.
    """

    sizes: IntArray
    probability: FloatArray
    log_odds: FloatArray


def locked(values: ArrayLike) -> NDArray[Any]:
    """Return values as an array that cannot be written to; one that was given stays as it is."""
    view = np.asarray(values).view()
    view.setflags(write=False)
    return view


def guarded(item: Guarded) -> Guarded:
    """Return an object for plug-ins to read: a copy whose arrays are locked."""
    twin = copy(item)
    for name, value in vars(twin).items():
        if isinstance(value, np.ndarray):
            object.__setattr__(twin, name, locked(value))  # also where it is frozen
    return twin


def first_stray(values: FloatArray, bounds: Sequence[float]) -> int | None:
    """Return where the first value is infinite or outside bounds by more than rounding, if any."""
    low, high = bounds
    slack = 1e-9 * max([1.0, *(abs(bound) for bound in bounds if np.isfinite(bound))])
    strays = np.flatnonzero(np.isinf(values) | (values < low - slack) | (values > high + slack))
    return int(strays[0]) if strays.size else None


def is_pair(text: Any) -> TypeGuard[tuple[str, str]]:
    """Return whether this is a pair of texts: a tuple of two strings."""
    return isinstance(text, tuple) and len(text) == 2 and all(isinstance(t, str) for t in text)


@dataclass(frozen=True)
class Example:
    """One labelled text, or pair of texts.

    Attributes:
        example_id: unique within its dataset.
        words: the text as words; ``text`` is these joined by single blanks.
        label: class index, from 0.
        group: value of the protected attribute.
        split: ``train`` or ``test``.
        match_id: the matched set it belongs to (a male/female pair, say), or None.
        rationale: 0/1 per word, 1 where the word carries the label, those of a second text after
            those of the first; None where unknown.
        attributes: further facts about the example.
        words_b: the second text of a pair, such as the hypothesis of a premise; None of one text.
    """

    example_id: str
    words: tuple[str, ...]
    label: int
    group: str
    split: Split
    match_id: str | None = None
    rationale: tuple[int, ...] | None = None
    attributes: dict[str, str] = field(default_factory=dict)
    words_b: tuple[str, ...] | None = None

    @property
    def text(self) -> str:
        """The words joined by single blanks; of a pair, those of the first text."""
        return " ".join(self.words)

    @property
    def all_words(self) -> tuple[str, ...]:
        """The words, and after them those of the second text of a pair."""
        return self.words + (self.words_b or ())

    @property
    def pair(self) -> tuple[str, str] | None:
        """Both texts of a pair, each with its words joined by single blanks; None of one text."""
        return None if self.words_b is None else (self.text, " ".join(self.words_b))

    @property
    def parts(self) -> Words:
        """The text as it is encoded: its words, or of a pair those of both texts."""
        if self.words_b is None:
            return list(self.words)
        return list(self.words), list(self.words_b)


@dataclass(frozen=True)
class Encoding:
    """A text, or a pair of texts, as the model sees it.

    Attributes:
        text: the text; of a pair both, and between them the tokens that part them.
        token_ids: (t,) vocabulary indices, special tokens included. A model that tells the texts of
            a pair by token types knows a token of type k as ``index + k × rows of its table of
            embeddings``, so that no token loses its type where others are removed or replaced.
        tokens: (t,) their names in the vocabulary.
        word_ids: (t,) index of the word each token starts in; −1 for special tokens, −2 for those
            of a prompt around the text. The words of a second text are numbered on from those of
            the first.
        special_mask: (t,) True for special tokens and those of a prompt.
        truncated: True if the text was longer than the model's limit.
        offsets: (t, 2) span of each token in the text, in characters.
        straddling: tokens that have characters of both, text and prompt.
        pair: both texts of a pair; None of one text.
    """

    text: str
    token_ids: IntArray
    tokens: tuple[str, ...]
    word_ids: IntArray
    special_mask: BoolArray
    truncated: bool = False
    offsets: IntArray | None = None
    straddling: int = 0
    pair: tuple[str, str] | None = None

    def __len__(self) -> int:
        return len(self.token_ids)

    @property
    def frame_mask(self) -> BoolArray:
        """(t,) True for tokens of a prompt around the text."""
        return np.asarray(self.word_ids == FRAME_WORD)


@dataclass(frozen=True)
class Origin:
    """What made an explanation, so that a metric can make another in the same way.

    Attributes:
        method: registered id.
        params: its options.
        seed: the run's seed.
        key: what the text's random draws are keyed by.
    """

    method: str
    params: Mapping[str, Any]
    seed: int
    key: str


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Facts common to everything that is registered for experiments.

    Attributes:
        reference: where it is defined or described.
        display: name for tables; the id with blanks if None.
    """

    reference: str
    display: str | None = None
