"""Tokens of a text and their replacement, which keeps case, punctuation and endings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from exparity.types import Example

Mode = Literal["swap", "set"]

# What is written for both genders at once stays one token, so that nothing in it is replaced.
_TOKEN = re.compile(
    r"\(s\)he\b|\bs/he\b|[^\W\d_]+(?:[-'’][^\W\d_]+)*|\d+(?:[.,]\d+)*|\S", re.IGNORECASE
)
_ENDING = re.compile(r"['’]")


class Token(NamedTuple):
    """A word without its attached punctuation, a number, or a punctuation mark."""

    text: str  # as written
    lower: str  # in lower case, apostrophes straight
    word: int  # index of the word that it is part of
    start: int  # where it starts in that word


class Edit(NamedTuple):
    """Replacement of the tokens ``first`` to ``last`` by ``text``, which may contain blanks."""

    first: int
    last: int
    text: str


def tokens_of(words: Sequence[str]) -> list[Token]:
    """Split words into tokens."""
    return [
        Token(match[0], match[0].lower().replace("’", "'"), place, match.start())
        for place, word in enumerate(words)
        for match in _TOKEN.finditer(word)
    ]


def edited(words: Sequence[str], tokens: Sequence[Token], edits: Iterable[Edit]) -> tuple[str, ...]:
    """Return words with some tokens replaced."""
    out = list(words)
    for edit in sorted(edits, reverse=True):  # from the end, so that earlier places stay
        first = tokens[edit.first]
        last = tokens[edit.last]
        pieces = edit.text.split(" ")
        pieces[0] = out[first.word][: first.start] + pieces[0]
        pieces[-1] += out[last.word][last.start + len(last.text) :]
        out[first.word : last.word + 1] = pieces
    return tuple(out)


def in_case_of(model: str, word: str) -> str:
    """Return a word in the case of another (HE to SHE, He to She); capitals of its own stay."""
    if len(model) > 1 and model.isupper():
        return word.upper()
    return word[0].upper() + word[1:] if model[0].isupper() else word


def replaced(text: str, partner: Callable[[str], str | None]) -> str | None:
    """Replace a token, or its part before an ending ('s, 'd) or between hyphens.

    Returns the new token in the case of the old one; None if it stays.
    """
    lower = text.lower().replace("’", "'")
    if (other := partner(lower)) is not None:
        return in_case_of(text, other)
    if ending := _ENDING.search(text):
        place = ending.start()
        start = replaced(text[:place], partner)
        return None if start is None else start + text[place:]
    if "-" not in text:
        return None
    parts = [(part, replaced(part, partner)) for part in text.split("-")]
    if all(new is None for _, new in parts):
        return None
    return "-".join(old if new is None else new for old, new in parts)


def with_words(example: Example, words: tuple[str, ...], group: str) -> Example:
    """Return an example of another group; its rationale is None if the number of words changes."""
    rationale = example.rationale if len(words) == len(example.words) else None
    return replace(example, words=words, group=group, rationale=rationale)
