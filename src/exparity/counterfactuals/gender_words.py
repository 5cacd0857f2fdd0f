"""Generator gender_words: pronouns, titles, and nouns and adjectives that name a gender."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from exparity.counterfactuals import counterfactual
from exparity.counterfactuals._contexts import WordContext
from exparity.counterfactuals._gendered import pronoun, turned
from exparity.counterfactuals._text import Mode
from exparity.data.genders import GROUPS, read_lexicon
from exparity.data.table import PreparedData
from exparity.types import Example

_LEXICON = "a78a4ce9f67ad66470f3a52e733d477330ebb24cae5147c6039c4e708475841a"
_PARTNERS = read_lexicon(_LEXICON)[0]
_BEFORE_NAMES = {"lord": "lady", "lady": "lord", "sir": "dame", "dame": "sir"}
"""Partners as titles: "Lady Hall" is Lord Hall, but a lady is a gentleman."""
_FEMALE_TITLES = ("lady", "dame")


def _is_count(context: WordContext, place: int) -> bool:
    is_rank = context.before_name(place) or context.after_determiner(place)
    return context.is_capital(place) and is_rank


def _is_master(context: WordContext, place: int) -> bool:
    """Return whether it is one who is served, no degree and no craftsman."""
    return (
        not context.is_capital(place)
        and context.after_owner(place)
        and context.ends_phrase(place + 1, but="of")
    )


def _is_bachelor(context: WordContext, place: int) -> bool:
    """Return whether it is an unmarried man, and no degree."""
    is_degree = context.has_ending(place) or context.is_capital(place)
    return not is_degree and not context.next_is(place, "of", "degree", "degrees", "in", "'")


# What a word must fulfil to name a gender.
_CONDITIONS: Mapping[str, Callable[[WordContext, int], bool]] = {
    "count": _is_count,
    "master": _is_master,
    "bachelor": _is_bachelor,
    "bachelors": lambda context, place: (
        _is_bachelor(context, place) and not context.after_determiner(place)
    ),
    "mr": WordContext.is_title,
    "mrs": WordContext.is_title,
    "ms": WordContext.is_title,
    "miss": lambda context, place: context.is_capital(place) and context.before_name(place),
    "hunter": lambda context, place: not context.is_capital(place),
}


def _partner(context: WordContext, place: int, word: str, to: str) -> str | None:
    """Return the partner of a word; see :data:`~exparity.counterfactuals._gendered.Partner`."""
    chosen = pronoun(context, place, word, to)
    if chosen is not None:
        return chosen
    if word in _BEFORE_NAMES and context.titles(place):
        title = _BEFORE_NAMES[word]
        return title if (title in _FEMALE_TITLES) == (to == "female") else None
    partner = _PARTNERS[to].get(word) or _of_compound(context, place, word, to)
    if partner is None or context.is_name(place) or context.is_fixed(place):
        return None
    return partner if word not in _CONDITIONS or _CONDITIONS[word](context, place) else None


def _of_compound(context: WordContext, place: int, word: str, to: str) -> str | None:
    """Return the partner of a compound by rule: a gunman, two gunwomen."""
    stem, end = word[:-3], word[-3:]
    if end not in ("man", "men") or not stem.isalpha() or not context.is_compound(place, word):
        return None
    if stem.endswith("wo"):
        return f"{stem[:-2]}{end}" if to == "male" and len(stem) > 4 else None
    return f"{stem}wo{end}" if to == "female" and len(stem) > 2 else None


@counterfactual(
    "gender_words",
    reference="exparity's own word list and rules, after Chen et al. 2024, arXiv:2404.00463",
    groups=GROUPS,
)
def gender_words(
    example: Example, group: str, data: PreparedData, *, mode: Mode = "swap"
) -> Example:
    """Swap or set the words that name a gender: he and she, father and mother, Mr. and Ms.

    Args:
        example: the example.
        group: the gender that it is to be of.
        data: not used; the text is enough.
        mode: ``swap`` the words of both genders, or ``set`` all of them to ``group``.

    Returns:
        The example with its other words, names included, as they were.
    """
    return turned(example, group, mode, _partner)
