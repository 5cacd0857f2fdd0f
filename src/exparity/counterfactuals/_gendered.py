"""From a text of one gender to that of another: what gender_words and gender_pronouns share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from exparity.counterfactuals._contexts import WordContext
from exparity.counterfactuals._text import Edit, Mode, edited, replaced, tokens_of, with_words
from exparity.data.genders import GROUPS
from exparity.types import Example

Partner = Callable[[WordContext, int, str, str], str | None]
"""Called with a text, a place in it, a word there in lower case, and the gender that is made;
returns the word's partner, None if the word is not of the other gender."""


def turned(example: Example, group: str, mode: Mode, partner: Partner) -> Example:
    """Return an example with the words of both genders swapped, or set to those of ``group``."""
    tokens = tokens_of(example.words)
    context = WordContext(tokens)
    genders = GROUPS if mode == "swap" else (group,)
    edits = []
    for place, token in enumerate(tokens):
        if token.is_word:
            new = replaced(token.text, partial(_first, partner, genders, context, place))
            if new is not None:
                edits.append(Edit(place, place, new))
    return with_words(example, edited(example.words, tokens, edits), group)


def _first(
    partner: Partner, genders: Sequence[str], context: WordContext, place: int, word: str
) -> str | None:
    """Return what a word becomes, whichever gender it names."""
    partners = (partner(context, place, word, gender) for gender in genders)
    return next((new for new in partners if new is not None), None)


def pronoun(context: WordContext, place: int, word: str, to: str) -> str | None:
    """Return the partner of a pronoun that has several: her, hers, his and him."""
    if to == "male":
        if word == "her":
            return "his" if context.owns(place) else "him"
        return "his" if word == "hers" else None
    if word == "his":
        return "hers" if context.stands_alone(place) else "her"
    return "her" if word == "him" else None
