"""Generator of sentence pairs with word-level gender rationales, in the manner of GECO.

Each pair is one filled template read twice, once with a male and once with a female protagonist.
The words that differ are the rationale: they, and nothing else, carry the label. Templates,
not only pairs, are held out for the test split, so that a test score cannot rest on a memorised
template. The layout follows GECO (Wilming et al. 2024, arXiv:2406.11547); every sentence is new.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from exparity.core.strict import read_yaml
from exparity.data.genders import GROUPS, LABELS, word_pairs
from exparity.resources import shipped
from exparity.types import Example, Split

_MIN_TEST_TEMPLATES = 2
Entries = Sequence[tuple[str, str]]
"""Entries of a list of words: what stands for a man, and for a woman."""
PROTAGONIST = "P"
NOBODY = ""
_SLOT = re.compile(
    r"\{(?P<key>(?:(?P<person>[A-Z]):)?(?P<name>[a-z]+)(?:#\d)?)(?:\.(?P<form>[a-z]+))?\}"
)


class Part(NamedTuple):
    """A word of a template, or a slot that an entry of a list fills."""

    key: str  # the word; slots of one key get one entry
    person: str = NOBODY
    name: str = ""  # of the list; empty for a word, ``a`` for the article of the next one
    form: str = ""  # of a verb


class Template(NamedTuple):
    """One authored sentence pattern."""

    id: str  # slug, unique in the grammar
    kind: str  # ``subject`` or ``object``: the place of the protagonist in the main clause
    parts: tuple[Part, ...]

    def persons(self) -> list[str]:
        """Return the persons of the template, sorted."""
        return sorted({part.person for part in self.parts} - {NOBODY})

    def features(self) -> set[str]:
        """Return the kind and all gendered forms, which training must contain as well."""
        return {self.kind, *(part.name for part in self.parts if part.person != NOBODY)}


def parse(text: str) -> tuple[Part, ...]:
    """Split the text of a template into words and slots."""
    slots = [(word, _SLOT.fullmatch(word)) for word in text.split()]
    return tuple(Part(**slot.groupdict("")) if slot else Part(word) for word, slot in slots)


def read_templates(path: Path) -> tuple[Template, ...]:
    """Read templates, by kind and id."""
    return tuple(
        Template(slug, kind, parse(text))
        for kind, texts in read_yaml(path).items()
        for slug, text in texts.items()
    )


def alike(entries: str | Sequence[str]) -> Entries:
    """Return entries that are equal for both genders, of a list or a text ``one; other``."""
    listed = entries.split(";") if isinstance(entries, str) else entries
    return [(entry.strip(), entry.strip()) for entry in listed]


def titled(titles: Mapping[str, int]) -> Entries:
    """Put every title before every surname, as often as its weight says."""
    entries = []
    for title, weight in titles.items():
        for male, female in word_pairs(title):
            for surname, _ in alike(_LEXICON.surnames):
                entries += [(f"{male} {surname}", f"{female} {surname}")] * weight
    return entries


class _Lexicon(NamedTuple):
    """Words of templates; pairs are of a man and of a woman."""

    gendered: Mapping[str, str]
    roles: str
    younger_kin: str
    titles: Mapping[str, int]
    surnames: str
    mixed: Mapping[str, Mapping[str, int]]
    pronouns: Mapping[str, str]
    verb_forms: str
    neutral: Mapping[str, str | Sequence[str]]


_LEXICON = _Lexicon(**read_yaml(shipped("gender_pairs/lexicon.yaml")))
GENDERED: Mapping[str, Entries] = {
    **{name: word_pairs(pairs) for name, pairs in _LEXICON.gendered.items()},
    "role": [(f"the {male}", f"the {female}") for male, female in word_pairs(_LEXICON.roles)],
    "title": titled(_LEXICON.titles),
    "kin": word_pairs(f"{_LEXICON.gendered['elder']}, {_LEXICON.younger_kin}"),
}
MIXED = {name: [*Counter(weights).elements()] for name, weights in _LEXICON.mixed.items()}
PRONOUNS = {form: word_pairs(pair)[0] for form, pair in _LEXICON.pronouns.items()}
VERB_FORMS: Sequence[str] = _LEXICON.verb_forms.split()
ENTRIES: Mapping[str, Entries] = {
    **GENDERED,
    **{name: alike(entries) for name, entries in _LEXICON.neutral.items()},
}
TEMPLATES = read_templates(shipped("gender_pairs/templates.yaml"))


class Dealer:
    """Deals list indices like cards: every entry is used before any is used again.

    Plain draws with replacement would leave some names out of a small training split by chance.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._decks: dict[str, list[int]] = defaultdict(list)

    def deal(self, name: str, size: int, dealt: set[int]) -> int:
        deck = self._decks[name]
        for place in range(len(deck) - 1, -1, -1):
            if deck[place] not in dealt:
                return deck.pop(place)
        fresh = list(range(size))
        self._rng.shuffle(fresh)
        deck[:0] = fresh
        return self.deal(name, size, dealt)


def generate_pairs(
    variant: str, *, n_pairs: int = 800, test_share: float = 0.2, seed: int = 0
) -> list[Example]:
    """Return 2 * n_pairs sentences that differ in the gender of their protagonist only.

    In the variant "all" further persons have the gender of the protagonist, in "subj" each keeps
    one gender in both sentences. No sentence occurs twice; a split uses its templates equally
    often.
    """
    train, test = split_templates(TEMPLATES, test_share, stream(seed, "split"))
    n_test = min(max(1, round(test_share * n_pairs)), n_pairs - 1)
    schedule: list[tuple[Template, Split]] = [(test[i % len(test)], "test") for i in range(n_test)]
    schedule += [(train[i % len(train)], "train") for i in range(n_pairs - n_test)]
    stream(seed, "order").shuffle(schedule)
    dealers = {split: Dealer(stream(seed, "fill", split)) for split in ("train", "test")}
    genders = {split: Dealer(stream(seed, "others", split)) for split in ("train", "test")}
    sentences: list[Example] = []
    seen: set[tuple[str, ...]] = set()
    for pair, (template, split) in enumerate(schedule):
        filling = new_filling(template, dealers[split], seen)
        others = [person for person in template.persons() if person != PROTAGONIST]
        fixed = {person: genders[split].deal(person, len(GROUPS), set()) for person in others}
        readings = []
        for gender in range(len(GROUPS)):
            other_genders = dict.fromkeys(others, gender) if variant == "all" else fixed
            readings.append(reading_of(template, filling, gender, other_genders))
        rationale = tuple(int(word != other) for word, other in zip(*readings, strict=True))
        sentences += [
            Example(
                example_id=f"{pair:04d}-{gender}",
                words=words,
                label=LABELS.index(gender),
                group=gender,
                split=split,
                match_id=f"{pair:04d}",
                rationale=rationale,
                attributes={"template": template.id},
            )
            for gender, words in zip(GROUPS, readings, strict=True)
        ]
    return sentences


def stream(seed: int, *purpose: str) -> random.Random:
    """Return a random generator for one purpose; Python hashes text seeds with SHA-512."""
    return random.Random(":".join(("exparity-grammar", str(seed), *purpose)))


def split_templates(
    templates: Sequence[Template], test_share: float, rng: random.Random
) -> tuple[list[Template], list[Template]]:
    """Split templates into training and test; every gendered form of test is in training."""
    kinds = dict.fromkeys(template.kind for template in templates)
    shuffled = list(templates)
    rng.shuffle(shuffled)
    n_test = max(_MIN_TEST_TEMPLATES, round(test_share * len(shuffled)))
    supply = Counter(feature for t in shuffled for feature in t.features())
    # One template of each kind goes first, so that the smallest test split covers all.
    leaders = [next(t for t in shuffled if t.kind == kind) for kind in kinds]
    test: list[Template] = []
    for template in [*leaders, *(t for t in shuffled if t not in leaders)]:
        spare = all(supply[feature] > 1 for feature in template.features())
        if spare and len(test) < n_test:
            test.append(template)
            supply.subtract(template.features())
    return [t for t in shuffled if t not in test], test


def new_filling(
    template: Template,
    dealer: Dealer,
    seen: set[tuple[str, ...]],
    lists: Mapping[str, Entries] = ENTRIES,
) -> dict[str, tuple[str, str]]:
    """Choose an entry for each slot until the sentence is new; ``seen`` gets its male reading.

    Slots that draw on one list get different entries.
    """
    while True:
        filling: dict[str, tuple[str, str]] = {}
        dealt: dict[str, set[int]] = defaultdict(set)
        for key, person, name, _ in template.parts:
            if name in ("", "a") or key in filling:
                continue
            if person != NOBODY and name in PRONOUNS:
                filling[key] = PRONOUNS[name]
                continue
            if name in MIXED:
                name = MIXED[name][dealer.deal(name, len(MIXED[name]), set())]
            entries = lists[name]
            filling[key] = entries[dealer.deal(name, len(entries), dealt[name])]
            # Entries with the same last word: repeated ones, and titles before the same surname.
            last = filling[key][0].split()[-1]
            dealt[name].update(i for i, (male, _) in enumerate(entries) if male.split()[-1] == last)
        # The all-male reading stands for every other one: the lexicon pairs words one to one.
        reading = reading_of(template, filling, 0, dict.fromkeys(template.persons(), 0))
        if reading not in seen:
            seen.add(reading)
            return filling


def reading_of(
    template: Template,
    filling: Mapping[str, tuple[str, str]],
    protagonist: int,
    others: Mapping[str, int],
) -> tuple[str, ...]:
    """Return the words of one reading; genders are indices into ``GROUPS``."""
    return tuple(word for word, _ in spelled(template, filling, protagonist, others))


def spelled(
    template: Template,
    filling: Mapping[str, tuple[str, str]],
    protagonist: int,
    others: Mapping[str, int],
) -> list[tuple[str, Part]]:
    """Return the words of one reading, each with the part of the template that it stands for."""
    genders = {**others, PROTAGONIST: protagonist, NOBODY: protagonist}
    parts: list[tuple[str, Part]] = []
    for part in template.parts:
        words = [part.key]
        if part.name not in ("", "a"):
            words = filling[part.key][genders[part.person]].split()
        if part.form:
            words = [words[VERB_FORMS.index(part.form)]]
        parts += [(word, part) for word in words]
    for i, (word, part) in enumerate(parts):
        written = _article(parts[i + 1][0]) if part.name == "a" else word
        if i == 0 or parts[i - 1][0] == ".":
            written = written[0].upper() + written[1:]
        parts[i] = written, part
    return parts


def _article(following: str) -> str:
    """Return the article that the sound of the following word takes."""
    following = following.lower()
    silent_h = following.startswith(("heir", "honest", "hour"))
    glide = following.startswith(("uni", "use", "eu", "one", "uk"))
    vowel = following[0] in "aeiou"
    return "an" if silent_h or (vowel and not glide) else "a"
