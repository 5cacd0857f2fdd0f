"""Words that name a gender: for datasets of gender, and for generators of counterfactuals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from exparity.core.strict import read_yaml

GROUPS = ("male", "female")
LABELS = ("female", "male")
"""Classes of GECO and of what follows its format, where the label is the gender."""
Partners = Mapping[str, Mapping[str, str]]
"""By gender: the words of the other gender, and their partners of this one."""


class Lexicon(NamedTuple):
    """Words that name a gender.

    Attributes:
        partners: by the gender that is made, words of the other one and what they become.
        telling: by gender, the words that tell it in any context.
        function_words: no nouns, so that "her" before one is no possessive.
        fixed: phrases that tell nobody's gender, as words.
        objects: words before and after a "her" that is an object.
        before_ing: words before such a "her" that a word on -ing follows.
        no_adverbs: words on -ly that are no adverbs.
    """

    partners: Partners
    telling: Mapping[str, frozenset[str]]
    function_words: frozenset[str]
    fixed: tuple[tuple[str, ...], ...]
    objects: tuple[tuple[frozenset[str], frozenset[str]], ...]
    before_ing: frozenset[str]
    no_adverbs: frozenset[str]


class _Words(NamedTuple):
    """The file of words, as it is written."""

    both: str
    before_man: str
    before_boy: str
    to_female: str
    to_male: str
    in_context: Mapping[str, str]
    neutral: str
    function_words: str
    objects: Sequence[Mapping[str, str]]
    before_ing: str
    no_adverbs: str
    fixed: str


@cache
def read_lexicon(path: Path) -> Lexicon:
    """Read the words of ``exparity/resources/gender_words/lexicon.yaml``.

    Its path is an argument, so that the words count for the digest of each reader.
    """
    lexicon = _Words(**read_yaml(path))
    pairs = word_pairs(lexicon.both)
    pairs += [(f"{s}m{v}n", f"{s}wom{v}n") for s in lexicon.before_man.split() for v in "ae"]
    pairs += [(f"{s}boy{n}", f"{s}girl{n}") for s in lexicon.before_boy.split() for n in ("", "s")]
    partners = {
        "male": {
            **{she: he for he, she in pairs},
            **dict(word_pairs(lexicon.to_male)),
            "hers": "his",
        },
        "female": {**dict(pairs), **dict(word_pairs(lexicon.to_female)), "him": "her"},
    }
    neutral = set(lexicon.neutral.split())
    telling = {
        gender: frozenset((*lexicon.in_context[gender].split(), *partners[other])) - neutral
        for gender, other in (GROUPS, GROUPS[::-1])
    }
    fixed = tuple(tuple(phrase.split()) for phrase in lexicon.fixed.split(";"))
    objects = tuple(
        (frozenset(pattern["before"].split()), frozenset(pattern["after"].split()))
        for pattern in lexicon.objects
    )
    return Lexicon(
        partners,
        telling,
        function_words=frozenset(lexicon.function_words.split()),
        fixed=fixed,
        objects=objects,
        before_ing=frozenset(lexicon.before_ing.split()),
        no_adverbs=frozenset(lexicon.no_adverbs.split()),
    )


def word_pairs(text: str) -> list[tuple[str, str]]:
    """Split ``male female, male female`` into pairs."""
    return [(male, female) for male, female in map(str.split, text.split(","))]
