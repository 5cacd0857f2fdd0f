"""Words that name a gender: for datasets of gender, and for generators of counterfactuals."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from exparity.core.strict import read_yaml
from exparity.data.files import shipped

GROUPS = ("male", "female")
LABELS = ("female", "male")
"""Classes of GECO and of what follows its format, where the label is the gender."""
Partners = Mapping[str, Mapping[str, str]]
"""By the gender that is made: the words of the other gender, and what they become."""

# For the co-occurrence bias (Wilming et al. 2024, A.1.3), by form: the object and the possessive,
# which English tells apart for men alone, count as one.
_PRONOUNS = {
    "male": (("he",), ("him", "his")),
    "female": (("she",), ("her",)),
    "neutral": (("they",), ("them", "their")),
}
# Their partners depend on the words around them, so that the lexicon has none.
_IN_CONTEXT = {"male": ("him", "his", "mr"), "female": ("her", "hers", "mrs", "ms")}
_OF_ANYONE = (
    "actor actors antihero bachelor bachelors baron barons beau belle belles chick chicks count "
    "counts dude dudes duke dukes guys heir heirs hero heroes hunter hunters king kings master "
    "masters miss steward stewards superhero superheroes waiter waiters wizard wizards"
)
"""What also names anyone (actors), a family (King), or another thing (a master's degree)."""


def gender_facts(groups: tuple[str, ...] = GROUPS) -> dict[str, Any]:
    """Return what is true of every dataset of sentences in one version a gender."""
    return {
        "attribute": "gender",
        "groups": groups,
        "matched": True,
        "rationales": True,
        "group_terms": {group: _PRONOUNS[group] for group in groups},
    }


@cache
def read_partners(digest: str) -> Partners:
    """Read the lexicon, ``exparity/resources/gender_words/lexicon.yaml``, of a SHA-256.

    Each reader holds it: a change of the words changes the reader's source, and so the workflow
    runs again what they made.
    """
    lexicon = read_yaml(shipped("gender_words", {"lexicon.yaml": digest}) / "lexicon.yaml")
    pairs = _pairs(lexicon["both"])
    pairs += [(f"{s}m{v}n", f"{s}wom{v}n") for s in lexicon["before_man"].split() for v in "ae"]
    pairs += [
        (f"{s}boy{n}", f"{s}girl{n}") for s in lexicon["before_boy"].split() for n in ("", "s")
    ]
    return {
        "male": {**{she: he for he, she in pairs}, **dict(_pairs(lexicon["to_male"]))},
        "female": {**dict(pairs), **dict(_pairs(lexicon["to_female"]))},
    }


def telling_words(partners: Partners) -> dict[str, frozenset[str]]:
    """Return the words of each gender that tell it whatever stands around them."""
    return {
        gender: frozenset((*_IN_CONTEXT[gender], *partners[other])) - {*_OF_ANYONE.split()}
        for gender, other in (GROUPS, GROUPS[::-1])
    }


def _pairs(text: str) -> list[tuple[str, str]]:
    """Part ``one other, one other`` into pairs."""
    return [(one, other) for one, other in map(str.split, text.split(","))]
