"""Replacement of gendered words, shared by gender_words and gender_pronouns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal

from exparity.counterfactuals._text import (
    Edit,
    Mode,
    Token,
    edited,
    replaced,
    tokens_of,
    with_words,
)
from exparity.data.genders import GROUPS, Partners, read_lexicon
from exparity.resources import shipped
from exparity.types import Example

LEXICON = read_lexicon(shipped("gender_words/lexicon.yaml"))
_PRONOUNS = frozenset(["he", "she", "him", "his", "her", "hers", "himself", "herself"])
_OWNERS = {"her": ("him", "his"), "his": ("hers", "her")}
"""Partners of words that stand alone, or before what is owned."""
_TITLES = frozenset(("mr", "ms", "mrs"))
_UNITS = frozenset(("MR", "MS", "ms"))
"""Spellings of titles that are something else unless a full stop follows."""
_FIXED: dict[str, list[tuple[int, tuple[str, ...]]]] = defaultdict(list)
"""By word: its places in the phrases that tell no gender, and the phrases."""
for _phrase in LEXICON.fixed:
    for _place, _word in enumerate(_phrase):
        _FIXED[_word].append((_place, _phrase))


Her = Literal["next_word", "neighbours"]
"""How "her" becomes "his" or "him": by the next word, or also by the words around both."""


def turned(
    example: Example,
    group: str,
    mode: Mode,
    partners: Partners,
    *,
    nouns: bool = True,
    her: Her = "next_word",
) -> Example:
    """Return an example with the words of both genders swapped, or set to those of ``group``."""
    tokens = tokens_of(example.words)
    genders = GROUPS if mode == "swap" else (group,)
    edits = []
    for place, token in enumerate(tokens):
        if token.text[0].isalpha() and not (nouns and _is_fixed(tokens, place)):
            new = replaced(token.text, partial(_partner, partners, genders, tokens, place, her))
            if new is not None:
                edits.append(Edit(place, place, new))
    return with_words(example, edited(example.words, tokens, edits), group)


def _partner(
    partners: Mapping[str, Mapping[str, str]],
    genders: Sequence[str],
    tokens: Sequence[Token],
    place: int,
    her: Her,
    word: str,
) -> str | None:
    """Return the partner of a word of either gender; None if the word stays."""
    if word in _OWNERS:
        owns = not _is_end(_lower(tokens, place + 1))
        if word == "her" and her == "neighbours":
            owns = owns and not _is_object(tokens, place)
        to = "male" if word == "her" else "female"
        return _OWNERS[word][owns] if to in genders else None
    new = next((partners[to][word] for to in genders if word in partners[to]), None)
    if word in _TITLES and tokens[place].text in _UNITS and _lower(tokens, place + 1) != ".":
        return None
    return None if word not in _PRONOUNS | _TITLES and _is_name(tokens, place) else new


def _is_end(word: str) -> bool:
    """Return whether nothing can be owned here: punctuation, a function word, or the end."""
    return not word[:1].isalnum() or word in LEXICON.function_words


def _is_object(tokens: Sequence[Token], place: int) -> bool:
    """Return whether "her" is an object although a content word follows: "let her go"."""
    before = _lower(tokens, place - 1)
    after = _lower(tokens, place + 1)
    is_last = _is_end(_lower(tokens, place + 2))
    if any(before in verbs and after in words for verbs, words in LEXICON.objects):
        return True
    if after.endswith("ing"):
        continues = _lower(tokens, place + 2)[:1].isalnum()
        return before in LEXICON.before_ing and continues
    return after.endswith("ly") and after not in LEXICON.no_adverbs and is_last


def _is_name(tokens: Sequence[Token], place: int) -> bool:
    """Return whether a noun is capitalised beside another capitalised word: "Stephen King"."""
    if not _is_capital(tokens, place) or (tokens[place].text.isupper()):
        return False
    before = place - 1
    after = place + 1
    before -= _lower(tokens, before) == "."
    return _is_capital(tokens, after) or (
        _is_capital(tokens, before) and _lower(tokens, before) not in LEXICON.function_words
    )


def _is_fixed(tokens: Sequence[Token], place: int) -> bool:
    """Return whether a word is part of a phrase without a gender, such as "mother tongue"."""
    return any(
        _lower_run(tokens, place - offset, len(phrase)) == phrase
        for offset, phrase in _FIXED.get(tokens[place].lower, ())
    )


def _lower_run(tokens: Sequence[Token], start: int, length: int) -> tuple[str, ...]:
    """Return tokens in a row in lower case; fewer at an end of the text."""
    return tuple(token.lower for token in tokens[max(0, start) : start + length])


def _is_capital(tokens: Sequence[Token], place: int) -> bool:
    return 0 <= place < len(tokens) and tokens[place].text[0].isupper()


def _lower(tokens: Sequence[Token], place: int) -> str:
    return tokens[place].lower if 0 <= place < len(tokens) else ""
