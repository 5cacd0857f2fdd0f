"""Words of a text that an answer in words names, and the scores that their order gives them."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from exparity.explanations.alignment import owners_of_words
from exparity.types import BoolArray, Encoding, FloatArray

_NUMBER = re.compile(r"\d{1,2}[.)]")
_UNBROKEN = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003134f]"
)
"""Characters of scripts that put no blank between words: Thai, Lao, Burmese, Khmer, Chinese."""


class Answer(NamedTuple):
    """What an answer says of a text.

    Attributes:
        text: as it was written.
        named: different words, or parts of the text, that it names.
        foreign: different words of it that are not in the text.
    """

    text: str
    named: int
    foreign: int

    @property
    def is_unread(self) -> bool:
        """Whether no word of the text can be read in it."""
        return not self.named

    @property
    def n_words(self) -> int:
        """Words of it, with repetitions; in scripts without blanks, what blanks part."""
        return sum(bool(word_key(piece)) for piece in self.text.split())


def read_answer(text: str, encoding: Encoding) -> tuple[FloatArray, Answer]:
    """Return (t,) scores of a text's tokens by an answer that names its words.

    The k-th different word that is named and is in the text scores 1 / k wherever it occurs, shared
    evenly among its tokens; all else scores 0. Case, marks around a word and repetitions do not
    count, nor do the numbers of a list. A word such as ``kind-hearted`` or ``funny,moving`` that
    the text does not have is read in its parts. Of scripts without blanks between words, any part
    of the text can be named.

    Args:
        text: the answer, of any kind.
        encoding: the text as the model saw it; words that were cut off are not in it.
    """
    places = _Places.of(encoding)
    scores = np.zeros(len(encoding))
    named: list[str] = []
    foreign: set[str] = set()
    for piece in text.split():
        if _NUMBER.fullmatch(piece) and word_key(piece) not in places.by_key:
            continue
        for key in _keys(piece, places):
            masks = places.under(key)
            if not masks:
                foreign.add(key)
            elif key not in named:
                named.append(key)
                for mask in masks:
                    scores[mask & (scores == 0)] = 1 / len(named) / mask.sum()
    return scores, Answer(text, len(named), len(foreign))


def word_key(word: str) -> str:
    """Return a word without the marks around it, in one form of case and of characters."""
    plain = unicodedata.normalize("NFKC", word).replace("’", "'").casefold()
    inside = [place for place, letter in enumerate(plain) if _is_of_word(letter)]
    return plain[inside[0] : inside[-1] + 1] if inside else ""


def _is_of_word(letter: str) -> bool:
    return unicodedata.category(letter)[0] in "LMN"


def _or_blank(letter: str) -> str:
    return letter if _is_of_word(letter) else " "


def _keys(piece: str, places: _Places) -> Iterator[str]:
    """Yield what is named by a piece of an answer between two blanks: the whole, or its parts."""
    key = word_key(piece)
    if not key:
        return
    parts = [] if places.under(key) else "".join(_or_blank(letter) for letter in key).split()
    if len(parts) > 1 and any(places.under(part) for part in parts):
        yield from parts
    else:
        yield key


class _Places(NamedTuple):
    """Where the words of a text are.

    Attributes:
        encoding: the text.
        by_key: (t,) masks of the tokens of each word, by the word's key.
    """

    encoding: Encoding
    by_key: dict[str, list[BoolArray]]

    @classmethod
    def of(cls, encoding: Encoding) -> _Places:
        """Find the words of a text that have tokens."""
        written = encoding.written
        texts = written if isinstance(written, tuple) else (written,)
        words = [word for text in texts if text is not None for word in text.words]
        by_key: dict[str, list[BoolArray]] = defaultdict(list)
        for word, owner in zip(words, owners_of_words(encoding, len(words)), strict=False):
            if key := word_key(word):
                by_key[key].append(np.asarray(encoding.word_ids == owner))
        return cls(encoding, dict(by_key))

    def under(self, key: str) -> list[BoolArray]:
        """Return the (t,) masks of the tokens of each occurrence of a key in the text."""
        masks = self.by_key.get(key, [])
        if masks or not _UNBROKEN.search(key) or self.encoding.offsets is None:
            return masks
        starts, ends = self.encoding.offsets.T
        text = self.encoding.text
        content = ~self.encoding.special_mask
        spans = (match.span() for match in re.finditer(re.escape(key), text))
        overlaps = [content & (starts < end) & (ends > start) for start, end in spans]
        return [mask for mask in overlaps if mask.any()]
