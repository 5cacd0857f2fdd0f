"""The lexicon of English words that name a gender: their partners, and which tell it alone."""

from __future__ import annotations

from collections.abc import Mapping

from exparity.core.strict import read_yaml
from exparity.data.files import shipped

# A change of the words changes this file, and so the workflow runs again what they made.
DIGESTS = {"lexicon.yaml": "98e0d87a02cd745f08fc27c3b51c23c3e8585c30cbd9c55f97f3ccb8ddc17505"}
Partners = Mapping[str, Mapping[str, str]]
"""By the gender that is made: the words of the other gender, and what they become."""

# Their partners depend on the words around them, so that the lexicon has none.
_PRONOUNS_AND_TITLES = {"male": ("him", "his", "mr"), "female": ("her", "hers", "mrs", "ms")}

_OF_ANYONE = frozenset(
    (
        *("actor", "actors", "antihero", "bachelor", "bachelors", "baron", "barons", "beau"),
        *("belle", "belles", "chick"),
        *("chicks", "count", "dude", "dudes", "steward", "stewards"),
        *("counts", "duke", "dukes", "guys", "heir", "heirs", "hero", "heroes", "hunter"),
        *("hunters", "king", "kings", "master", "masters", "miss", "superhero", "superheroes"),
        *("waiter", "waiters", "wizard", "wizards"),
    )
)
"""What also names anyone (actors), a family (King), or another thing (a master's degree)."""


def read_partners() -> Partners:
    """Read the lexicon: ``exparity/resources/gender_words``."""
    lexicon = read_yaml(shipped("gender_words", DIGESTS) / "lexicon.yaml")
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
        gender: frozenset((*own, *partners[other])) - _OF_ANYONE
        for (gender, own), other in zip(
            _PRONOUNS_AND_TITLES.items(), ("female", "male"), strict=True
        )
    }


def _pairs(text: str) -> list[tuple[str, str]]:
    """Part ``one other, one other`` into pairs."""
    return [(one, other) for one, other in map(str.split, text.split(","))]
