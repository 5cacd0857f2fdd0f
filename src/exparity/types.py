"""Data that every other module may import: texts as people and models see them, and labelled ones.

Axis letters used throughout the package: ``n`` examples, ``t`` tokens, ``k`` steps, ``c`` classes,
``h`` hidden.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeGuard, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Row = Mapping[str, Any]
"""A row of a table: what it holds by column."""
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
Split = Literal["train", "test"]
Guarded = TypeVar("Guarded")
Item = TypeVar("Item", bound=np.generic)
"""Kind of the items of an array."""

SPECIAL_WORD = -1
"""Word index of a token that belongs to no word ([CLS], [SEP], <s>, ...)."""
FRAME_WORD = -2
"""Word index of a token of the prompt around a text, which nothing masks, moves or scores."""


class Falls(NamedTuple):
    """Falls of a text's target from the whole text, one for each step that changes the text.

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


def is_pair(text: object) -> TypeGuard[tuple[str, str]]:
    """Return whether this is a pair of texts: a tuple of two strings."""
    return isinstance(text, tuple) and len(text) == 2 and all(isinstance(t, str) for t in text)


@dataclass(frozen=True)
class Text:
    """A text byte for byte, as the model reads it, and its words as spans in it.

    Strings are taken with words that blanks part. For other words, build it with :meth:`of_words`
    or from spans.

    Attributes:
        string: the text.
        spans: (w, 2) start and end of each word in it, in characters; in order, and apart.
        units: (w,) number of the unit of the dataset's own that each word is of, from 0; None where
            it has none.

    Raises:
        ValueError: spans overlap, or do not lie in the text; or units are not one a word.

    Examples:
        >>> from exparity import Text
        >>> Text("so kind", ((0, 2), (3, 7))).words
        ('so', 'kind')
    """

    string: str
    spans: tuple[tuple[int, int], ...]
    units: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.units is not None and len(self.units) != len(self.spans):
            raise ValueError(f"{len(self.units)} units for {len(self.spans)} words; give one each")
        edges = [edge for span in self.spans for edge in span]
        if any(len(span) != 2 for span in self.spans) or any(a > b for a, b in pairwise(edges)):
            raise ValueError(f"spans of words must be starts and ends in order, not {self.spans}")
        if edges and not 0 <= edges[0] <= edges[-1] <= len(self.string):
            raise ValueError(f"a span lies outside of the text's {len(self.string)} characters")

    @classmethod
    def of(cls, string: str) -> Text:
        """Take a string, whose words blanks part.

        Args:
            string: the text.

        Examples:
            >>> from exparity import Text
            >>> Text.of("very  kind").spans
            ((0, 4), (6, 10))
        """
        return cls(string, tuple(match.span() for match in _BETWEEN_BLANKS.finditer(string)))

    @classmethod
    def of_words(cls, words: Iterable[str], separator: str = " ") -> Text:
        """Take words, and what separates two of them: nothing in Chinese, say.

        Args:
            words: of the text, in order.
            separator: what stands between two words.

        Examples:
            >>> from exparity import Text
            >>> Text.of_words(["我", "喜欢"], separator="").string
            '我喜欢'
        """
        listed = list(words)
        spans = []
        start = 0
        for word in listed:
            spans.append((start, start + len(word)))
            start += len(word) + len(separator)
        return cls(separator.join(listed), tuple(spans))

    @property
    def words(self) -> tuple[str, ...]:
        """The words."""
        return tuple(self.string[start:end] for start, end in self.spans)

    @property
    def is_plain(self) -> bool:
        """Whether single blanks part the words, and nothing else is in the text."""
        return self == Text.of_words(self.words)

    def with_words(self, words: Sequence[str]) -> Text:
        """Return the text with other words, and between them what stood there.

        Words that are new stand behind a single blank.

        Args:
            words: all words of the new text, in order.

        Examples:
            >>> from exparity import Text
            >>> Text.of("he  is kind").with_words(["she", "is", "kind"]).string
            'she  is kind'
        """
        starts = [0, *(end for _, end in self.spans)]
        gaps = [self.string[a:b] for a, (b, _) in zip(starts, self.spans, strict=False)]
        before = [" " if place else "" for place in range(len(words))]
        matcher = SequenceMatcher(None, self.words, list(words), autojunk=False)
        for _, old, old_end, new, new_end in matcher.get_opcodes():
            for shift in range(min(old_end - old, new_end - new)):
                before[new + shift] = gaps[old + shift]
        string = ""
        spans = []
        for gap, word in zip(before, words, strict=True):
            spans.append((len(string) + len(gap), len(string) + len(gap) + len(word)))
            string += gap + word
        return Text(string + self.string[starts[-1] :], tuple(spans))


_BETWEEN_BLANKS = re.compile(r"\S+")
Parts = Text | tuple[Text, Text]
"""A text, or both of a pair."""
TextLike = (
    str | Text | Sequence[str] | tuple[str | Text | Sequence[str], str | Text | Sequence[str]]
)
"""A text, or its words, which single blanks then part; a tuple of two of these is a pair."""


@dataclass(frozen=True)
class Example:
    """One labelled text, or pair of texts.

    Attributes:
        example_id: unique within its dataset.
        words: the text as words.
        label: class index, from 0.
        group: value of the protected attribute.
        split: ``train`` or ``test``.
        match_id: the matched set it belongs to (a male/female pair, say), or None.
        rationale: 0/1 per word, 1 where the word carries the label, those of a second text after
            those of the first; None where unknown.
        attributes: further facts about the example.
        words_b: the second text of a pair, such as the hypothesis of a premise; None of one text.
        written: the text byte for byte, with these words, which it follows where they are replaced;
            None where single blanks part them.
        written_b: the second text in the same way.
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
    written: Text | None = None
    written_b: Text | None = None

    def __post_init__(self) -> None:
        """Have the written texts follow the words, which a counterfactual may have changed."""
        for name, words in (("written", self.words), ("written_b", self.words_b)):
            written = getattr(self, name)
            if written is not None and written.words != words:
                follows = None if words is None else written.with_words(words)
                object.__setattr__(self, name, follows)

    @property
    def text(self) -> str:
        """The text byte for byte; of a pair, the first."""
        return " ".join(self.words) if self.written is None else self.written.string

    @property
    def all_words(self) -> tuple[str, ...]:
        """The words, and after them those of the second text of a pair."""
        return self.words + (self.words_b or ())

    @property
    def pair(self) -> tuple[str, str] | None:
        """Both texts of a pair byte for byte; None of one text."""
        if self.words_b is None:  # most texts: their words need not be located
            return None
        second = " ".join(self.words_b) if self.written_b is None else self.written_b.string
        return self.text, second

    @property
    def parts(self) -> Parts:
        """The text as it is encoded, or both of a pair."""
        first = self.written or Text.of_words(self.words)
        if self.words_b is None:
            return first
        return first, self.written_b or Text.of_words(self.words_b)


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
        pair: both texts of a pair; None of one text.
        written: the text with its words, or both of a pair.
    """

    text: str
    token_ids: IntArray
    tokens: tuple[str, ...]
    word_ids: IntArray
    special_mask: BoolArray
    truncated: bool = False
    offsets: IntArray | None = None
    pair: tuple[str, str] | None = None
    written: Parts | None = None

    def __len__(self) -> int:
        return len(self.token_ids)

    @property
    def frame_mask(self) -> BoolArray:
        """(t,) True for tokens of a prompt around the text."""
        return np.asarray(self.word_ids == FRAME_WORD)


@dataclass(frozen=True)
class Origin:
    """Recipe of an explanation, by which a metric makes another in the same way.

    Attributes:
        method: registered id.
        params: its options.
        seed: the run's seed.
        key: what the text's random draws are keyed by.
    """

    method: str
    params: Mapping[str, object]
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
