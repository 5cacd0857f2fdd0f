"""Generator of biographies with a known causal truth, by the grammar of the pairs.

Occupation words carry the label. The gender shows in titles and pronouns alone, and no other word
depends on it: the other version of a biography is what it would be of a person of the other gender.
How far occupation and town go along with the gender is set (``imbalance``, ``proxy``), and how many
biographies leave open which of two occupations it is (``ambiguity``).
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from exparity.core.strict import read_yaml
from exparity.data._grammar import (
    ENTRIES,
    PROTAGONIST,
    Dealer,
    Entries,
    Template,
    alike,
    new_filling,
    read_templates,
    spelled,
    split_templates,
    stream,
    titled,
)
from exparity.data.genders import GROUPS
from exparity.resources import shipped
from exparity.types import Example, Split

OTHER = "O"


class _Lexicon(NamedTuple):
    """Words of biographies.

    Attributes:
        title: what precedes a surname.
        occupations: words by occupation and kind, as a list in a string.
        shared: words that two occupations share, by the names of both and by kind.
        homes: towns by gender.
    """

    title: str
    occupations: Mapping[str, Mapping[str, str]]
    shared: Mapping[str, Mapping[str, str]]
    homes: Mapping[str, str]


_LEXICON = _Lexicon(**read_yaml(shipped("bios/lexicon.yaml")))

OCCUPATIONS: tuple[str, ...] = tuple(_LEXICON.occupations)
KINDS: tuple[str, ...] = tuple(_LEXICON.occupations[OCCUPATIONS[0]])
TEMPLATES = read_templates(shipped("bios/templates.yaml"))
# Entries that two occupations share are under the names of both.
SHARED: Mapping[str, str] = {
    occupation: both for both in _LEXICON.shared for occupation in both.split()
}
OCCUPATION_WORDS: Mapping[str, Entries] = {
    f"{work} {kind}": alike(entries)
    for work, lists in {**_LEXICON.occupations, **_LEXICON.shared}.items()
    for kind, entries in lists.items()
}
HOMES: Mapping[str, Entries] = {
    f"home {gender}": alike(towns) for gender, towns in _LEXICON.homes.items()
}
WORDS: Mapping[str, Entries] = {
    **ENTRIES,
    **OCCUPATION_WORDS,
    **HOMES,
    "title": titled({_LEXICON.title: 1}),
}


class _Person(NamedTuple):
    """The person of a biography."""

    split: Split
    template: Template
    occupation: int  # index of its label
    gender: int  # index into ``GROUPS``; in pairs, of one of the versions
    home: str  # the gender whose list its town is from
    ambiguous: bool  # whether its words for work are those that two occupations share


class Population(NamedTuple):
    """Dependences of a generator; each is a share or a difference of shares."""

    # without pairs, the share of the larger gender within an occupation: of men where the
    # occupation's index is even, else of women
    imbalance: float
    proxy: float  # P(town of one's own list) − P(town of the other list), without pairs
    ambiguity: float  # the share whose words for work leave open which of two occupations it is
    ambiguous_group: str  # the gender among whom that share is; ``both``, or one without pairs


def generate_biographies(
    n: int, population: Population, *, paired: bool, test_share: float, seed: int
) -> list[Example]:
    """Return biographies of equally many people of each occupation, in random order."""
    train, test = split_templates(TEMPLATES, test_share, stream(seed, "bios", "split"))
    n_test = min(max(len(OCCUPATIONS), round(test_share * n)), n - len(OCCUPATIONS))
    people = _people("train", train, n - n_test, population, seed)
    people += _people("test", test, n_test, population, seed)
    stream(seed, "bios", "order").shuffle(people)
    dealers = {split: Dealer(stream(seed, "bios", "fill", split)) for split in ("train", "test")}
    seen: set[tuple[str, ...]] = set()
    examples: list[Example] = []
    for number, person in enumerate(people):
        versions = _versions(f"{number:04d}", person, dealers[person.split], seen)
        if paired:
            examples += versions
        else:  # the counterfactual is the text of the other version
            example = versions[person.gender]
            other = versions[1 - person.gender]
            attributes = {**example.attributes, "counterfactual": other.text}
            examples.append(replace(example, match_id=None, attributes=attributes))
    return examples


def _people(
    split: Split, templates: Sequence[Template], size: int, population: Population, seed: int
) -> list[_Person]:
    """Draw the people of a split; occupations alternate, and templates with each round of them."""
    rng = stream(seed, "bios", "people", split)
    # A stream of its own: all else is drawn as it is without ambiguity.
    shared = stream(seed, "bios", "ambiguity", split)
    people = []
    for place, gender in enumerate(_genders(size, population.imbalance, rng)):
        turn, occupation = divmod(place, len(OCCUPATIONS))
        home = gender if rng.random() < (1 + population.proxy) / 2 else 1 - gender
        ambiguous = shared.random() < population.ambiguity
        ambiguous &= population.ambiguous_group in ("both", GROUPS[gender])
        template = templates[turn % len(templates)]
        people.append(_Person(split, template, occupation, gender, GROUPS[home], ambiguous))
    return people


def _genders(size: int, imbalance: float, rng: random.Random) -> list[int]:
    """Return genders with the larger one's share of each occupation to the nearest person."""
    genders = [0] * size
    for occupation in range(len(OCCUPATIONS)):
        n = len(genders[occupation :: len(OCCUPATIONS)])
        larger = occupation % len(GROUPS)
        n_larger = int(imbalance * n + 0.5)
        dealt = [larger] * n_larger + [1 - larger] * (n - n_larger)
        rng.shuffle(dealt)
        genders[occupation :: len(OCCUPATIONS)] = dealt
    return genders


def _versions(
    number: str, person: _Person, dealer: Dealer, seen: set[tuple[str, ...]]
) -> list[Example]:
    """Write a biography in each gender."""
    work = OCCUPATIONS[person.occupation]
    if person.ambiguous:
        work = SHARED[work]
    others = [other for other in OCCUPATIONS if other not in work.split()]
    other = others[dealer.deal(f"beside {work}", len(others), set())]
    # Slots take the words of this work, of the other person's and of this home.
    lists = {f"{PROTAGONIST}:{kind}": f"{work} {kind}" for kind in KINDS}
    words_of_work = {*lists.values()}
    lists |= {f"{OTHER}:{kind}": f"{other} {kind}" for kind in KINDS}
    lists["home"] = f"home {person.home}"
    parts = (part._replace(name=lists.get(part.key, part.name)) for part in person.template.parts)
    template = person.template._replace(parts=tuple(parts))
    filling = new_filling(template, dealer, seen, WORDS)
    versions = []
    for gender, group in enumerate(GROUPS):
        words, parts_of_words = zip(
            *spelled(template, filling, gender, {OTHER: gender}), strict=True
        )
        versions.append(
            Example(
                example_id=f"{number}-{group}",
                words=words,
                label=person.occupation,
                group=group,
                split=person.split,
                match_id=number,
                rationale=tuple(int(part.name in words_of_work) for part in parts_of_words),
                attributes={"template": template.id, "home": person.home},
            )
        )
    return versions
