"""Units of a text, from tokens to sentences: parts that are attributed or removed as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from exparity.core.errors import InputError
from exparity.core.grouping import grouped
from exparity.types import BoolArray, Encoding, FloatArray, IntArray, Item, Parts, Text

Unit = Literal["token", "word", "sentence", "spans"]
"""A token; a word; a sentence, see :func:`sentences`; or one of the dataset's own spans."""
LEAST_DIFFERENCE = 0.05
"""Smallest reported difference between groups in the mean number of tokens of a word."""
_ENDS = ".!?…。！？｡।؟۔"
_AROUND = "\"'`“”‘’«»()[]{}「」『』"
_TITLES = frozenset({"mr", "mrs", "ms", "mx", "dr", "prof", "st", "sr", "jr"})


def unit_options(*, unit: Unit = "token") -> None:
    """Options of methods and metrics of units.

    Args:
        unit: part of a text that counts as one: a ``token``, a ``word``, a ``sentence``, or one of
            the ``spans`` of the dataset. Its attribution is the sum of its tokens'.
    """


@dataclass(frozen=True, eq=False)
class Units:
    """The units of a text, in its order; each special token, and each of a prompt, is one.

    Attributes:
        unit_of_token: (t,) index of the unit that each token is of.
        first: (u,) place of the first token of each unit.
    """

    unit_of_token: IntArray
    first: IntArray

    def __len__(self) -> int:
        return len(self.first)

    @property
    def are_tokens(self) -> bool:
        """Whether every unit is one token."""
        return len(self.first) == len(self.unit_of_token)

    def summed(self, scores: FloatArray) -> FloatArray:
        """Return the (u,) sums of (t,) scores of tokens."""
        if self.are_tokens:
            return scores
        sums = np.bincount(self.unit_of_token, weights=scores, minlength=len(self))
        return np.asarray(sums, dtype=np.float64)

    def shared(self, values: FloatArray) -> FloatArray:
        """Share (u,) values evenly among the tokens of each unit: (t,), with the same sums."""
        counts = np.bincount(self.unit_of_token, minlength=len(self))
        return np.asarray((values / counts)[self.unit_of_token], dtype=np.float64)

    def on_tokens(self, values: NDArray[Item]) -> NDArray[Item]:
        """Give each token the value of its unit: (..., u) to (..., t)."""
        return values if self.are_tokens else values[..., self.unit_of_token]


def units_of(word_ids: IntArray, special_mask: BoolArray, parts: Parts | None, unit: Unit) -> Units:
    """Return the units of a text; a token that belongs to no word is one of its own.

    Args:
        word_ids: (t,) index of each token's word, below 0 for none.
        special_mask: (t,) True for special tokens and those of a prompt.
        parts: the text with its words, or both of a pair.
        unit: kind of unit.

    Raises:
        InputError: the text has no spans of its own, or other words than the tokens.
    """
    places = np.arange(len(word_ids))
    if unit == "token":
        return Units(places, places)
    owners = word_ids
    if unit != "word":
        numbers = _of_words(parts, unit)
        if word_ids.max(initial=-1) >= len(numbers):
            raise InputError(
                f"unit: {unit}: tokens of {int(word_ids.max()) + 1} words, and a text of "
                f"{len(numbers)}; give the text with its words, as `written`"
            )
        owners = np.append(numbers, 0)[word_ids]
    alone = special_mask | (word_ids < 0)
    keys = np.where(alone, -1 - places, owners).tolist()
    first: dict[int, int] = {}  # place of each unit's first token, in the order of the text
    for place, key in enumerate(keys):
        first.setdefault(key, place)
    order = dict(zip(first, range(len(first)), strict=True))
    unit_of_token = np.array([order[key] for key in keys], dtype=np.int64)
    return Units(unit_of_token, np.array([*first.values()], dtype=np.int64))


def _of_words(parts: Parts | None, unit: Unit) -> IntArray:
    """Return the (w,) number of each word's unit; those of a second text are numbered on."""
    numbers: list[IntArray] = []
    start = 0
    texts = parts if isinstance(parts, tuple) else (parts,)
    if unit == "spans" and not any(text and text.units for text in texts):
        raise InputError(
            "unit: spans: a text has none; name their column as `unit_spans` of a table, or give "
            "`units` of exparity.Text"
        )
    for text in texts:
        assert text is not None
        if unit == "sentence":
            word_units = sentences(text)
        else:
            word_units = np.array(text.units or range(len(text.spans)), dtype=np.int64)
        numbers.append(word_units + start)
        start += int(word_units.max(initial=-1)) + 1
    return np.concatenate(numbers)


def pieces_by_group(encodings: Sequence[Encoding], groups: Sequence[str]) -> dict[str, float]:
    """Return the mean number of tokens of a word, by group; nothing where groups hardly differ."""
    by_group = grouped(zip(encodings, groups, strict=True), lambda pair: pair[1])
    means = {}
    for group, pairs in by_group.items():
        words = [encoding.word_ids[~encoding.special_mask] for encoding, _ in pairs]
        means[group] = sum(map(len, words)) / sum(len(np.unique(word_ids)) for word_ids in words)
    alike = max(means.values(), default=0) - min(means.values(), default=0) < LEAST_DIFFERENCE
    return {} if alike else means


def sentences(text: Text) -> IntArray:
    """Return the (w,) number of the sentence that each word is in, by a rule of marks.

    A sentence ends with a word that ends in one of ``. ! ? …`` or their like in other scripts,
    quotes and brackets aside, or before an empty line. A full stop ends none after a single letter
    or a title such as Mrs, nor before a word in lower case, unless it stands alone or the text has
    no capital. Marks that stand alone belong to the sentence before them.
    """
    is_cased = any(letter.isupper() for letter in text.string)
    numbers: list[int] = []
    number, end, ended, may_go_on = 0, 0, False, False
    for (start, stop), word in zip(text.spans, text.words, strict=True):
        bare = word.strip(_AROUND)
        is_mark = not bare.strip(_ENDS)
        goes_on = is_mark or (may_go_on and is_cased and bare[0].islower())
        if numbers and (text.string[end:start].count("\n") > 1 or (ended and not goes_on)):
            number += 1
        numbers.append(number)
        end = stop
        if bare:
            stem = bare.rstrip(".")
            is_short = bare != stem and (len(stem) == 1 or stem.lower() in _TITLES)
            ended = bare[-1] in _ENDS and not is_short
            may_go_on = bare != stem and not is_mark
    return np.array(numbers, dtype=np.int64)
