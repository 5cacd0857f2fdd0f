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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exparity.core.strict import read_yaml
from exparity.data.genders import GROUPS, LABELS
from exparity.resources import shipped
from exparity.types import Example, Split

_MIN_TEST_TEMPLATES = 2
GenderedEntry = tuple[str, str]
Entries = tuple[GenderedEntry, ...]
Filling = dict[str, GenderedEntry]
PROTAGONIST = "P"
NOBODY = ""
_SLOT = re.compile(r"\{(?:(?P<person>[A-Z]):)?(?P<list>[a-z]+)(?:#\d)?(?:\.(?P<form>[a-z]+))?\}")


@dataclass(frozen=True)
class Slot:
    """A place in a template that a word of a list fills."""

    key: str
    person: str
    name: str
    form: str | None


@dataclass(frozen=True)
class Template:
    """One authored sentence pattern."""

    id: str  # slug, unique in the grammar
    kind: str  # ``subject`` or ``object``: the place of the protagonist in the main clause
    parts: tuple[str | Slot, ...]  # literal words and slots in order

    def slots(self) -> Iterator[Slot]:
        """Yield the slots in order."""
        return (part for part in self.parts if isinstance(part, Slot))

    def persons(self) -> list[str]:
        """Return the persons of the template, sorted."""
        return sorted({slot.person for slot in self.slots() if slot.person != NOBODY})

    def features(self) -> frozenset[str]:
        """Return the kind and all gendered forms, which training must contain as well."""
        forms = {slot.name for slot in self.slots() if slot.person != NOBODY}
        return frozenset(forms | {self.kind})


def parse(text: str) -> tuple[str | Slot, ...]:
    """Split the text of a template into words and slots."""
    parts: list[str | Slot] = []
    for word in text.split():
        match = _SLOT.fullmatch(word)
        if match is None:
            parts.append(word)
        else:
            key = word.strip("{}").split(".")[0]
            parts.append(Slot(key, match["person"] or NOBODY, match["list"], match["form"]))
    return tuple(parts)


def partners(text: str) -> Entries:
    """Split ``male female, male female`` into entries."""
    pairs = (pair.split() for pair in text.split(","))
    return tuple((male, female) for male, female in pairs)


def items(text: str) -> tuple[str, ...]:
    """Split ``one; other`` into entries."""
    return tuple(item.strip() for item in text.split(";"))


def _gendered(lexicon: Mapping[str, Any]) -> dict[str, Entries]:
    titles = {partners(pair)[0]: weight for pair, weight in lexicon["titles"].items()}
    elders, roles = partners(lexicon["elders"]), partners(lexicon["roles"])
    return {
        "name": partners(lexicon["names"]),
        "role": tuple((f"the {male}", f"the {female}") for male, female in roles),
        "title": tuple(
            entry
            for title, weight in titles.items()
            for entry in titled([title], items(lexicon["surnames"]))
            for _ in range(weight)
        ),
        "kin": elders + partners(lexicon["younger_kin"]),
        "elder": elders,
        "child": partners(lexicon["children"]),
        "wed": partners(lexicon["weds"]),
        "spouse": partners(lexicon["spouses"]),
    }


def read_templates(path: Path) -> tuple[Template, ...]:
    """Read templates, by kind and id."""
    return tuple(
        Template(slug, kind, parse(text))
        for kind, texts in read_yaml(path).items()
        for slug, text in texts.items()
    )


def titled(titles: Iterable[GenderedEntry], surnames: Iterable[str]) -> Entries:
    """Put every title before every surname."""
    return tuple(
        (f"{male} {surname}", f"{female} {surname}")
        for male, female in titles
        for surname in surnames
    )


def alike(entries: Iterable[str]) -> Entries:
    """Return entries that are equal for both genders."""
    return tuple((entry, entry) for entry in entries)


_LEXICON = read_yaml(shipped("gender_pairs/lexicon.yaml"))

GENDERED = _gendered(_LEXICON)
MIXED: dict[str, tuple[str, ...]] = {
    name: tuple(entry for entry, weight in weights.items() for _ in range(weight))
    for name, weights in _LEXICON["mixed"].items()
}
PRONOUNS: dict[str, GenderedEntry] = {
    form: partners(entry)[0] for form, entry in _LEXICON["pronouns"].items()
}
VERB_FORMS: tuple[str, ...] = tuple(_LEXICON["verb_forms"].split())
VERBS: Mapping[str, Sequence[str]] = _LEXICON["verbs"]
NEUTRAL: dict[str, tuple[str, ...]] = {
    name: items(fillers) for name, fillers in _LEXICON["neutral"].items()
}
SURNAMES = items(_LEXICON["surnames"])
ENTRIES: Mapping[str, Entries] = {
    **GENDERED,
    **{name: alike(verbs) for name, verbs in VERBS.items()},
    **{name: alike(fillers) for name, fillers in NEUTRAL.items()},
}
TEMPLATES = read_templates(shipped("gender_pairs/templates.yaml"))


class Dealer:
    """Deals list indices like cards: every entry is used before any is used again.

    Plain draws with replacement would leave some names out of a small training split by chance.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._decks: dict[str, list[int]] = {}

    def deal(self, name: str, size: int, taken: set[int]) -> int:
        deck = self._decks.setdefault(name, [])
        for place in range(len(deck) - 1, -1, -1):
            if deck[place] not in taken:
                return deck.pop(place)
        fresh = list(range(size))
        self._rng.shuffle(fresh)
        deck[:0] = fresh
        return self.deal(name, size, taken)


def generate_pairs(
    variant: str, *, n_pairs: int = 800, test_share: float = 0.2, seed: int = 0
) -> list[Example]:
    """Return 2 * n_pairs sentences that differ in the gender of their protagonist only.

    In the variant "all" further persons have the gender of the protagonist, in "subj" each keeps
    one gender in both sentences. No sentence occurs twice.
    """
    schedule = _schedule(n_pairs, test_share, seed)
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
            of_others = dict.fromkeys(others, gender) if variant == "all" else fixed
            readings.append(reading_of(template, filling, gender, of_others))
        rationale = tuple(int(one != other) for one, other in zip(*readings, strict=True))
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
    wanted = max(_MIN_TEST_TEMPLATES, round(test_share * len(shuffled)))
    supply = Counter(feature for t in shuffled for feature in t.features())
    # One template of each kind goes first, so that the smallest test split covers all.
    leaders = [next(t for t in shuffled if t.kind == kind) for kind in kinds]
    test: list[Template] = []
    for template in [*leaders, *(t for t in shuffled if t not in leaders)]:
        spare = all(supply[feature] > 1 for feature in template.features())
        if spare and len(test) < wanted:
            test.append(template)
            supply.subtract(template.features())
    return [t for t in shuffled if t not in test], test


def _schedule(n_pairs: int, test_share: float, seed: int) -> list[tuple[Template, Split]]:
    """Return the template and split of every pair; a split uses its templates equally often."""
    train, test = split_templates(TEMPLATES, test_share, stream(seed, "split"))
    n_test = min(max(1, round(test_share * n_pairs)), n_pairs - 1)
    plan: list[tuple[Template, Split]] = [(test[i % len(test)], "test") for i in range(n_test)]
    plan += [(train[i % len(train)], "train") for i in range(n_pairs - n_test)]
    stream(seed, "order").shuffle(plan)
    return plan


def new_filling(
    template: Template,
    dealer: Dealer,
    seen: set[tuple[str, ...]],
    lists: Mapping[str, Entries] = ENTRIES,
) -> Filling:
    """Choose an entry for each slot until the sentence is new; ``seen`` gets its male reading.

    Slots that draw on one list get different entries.
    """
    while True:
        filling: Filling = {}
        taken: dict[str, set[int]] = defaultdict(set)
        for slot in template.slots():
            name = slot.name
            if slot.key in filling or name == "a":
                continue
            if slot.person != NOBODY and name in PRONOUNS:
                filling[slot.key] = PRONOUNS[name]
                continue
            if name in MIXED:
                name = MIXED[name][dealer.deal(name, len(MIXED[name]), set())]
            entries = lists[name]
            filling[slot.key] = entries[dealer.deal(name, len(entries), taken[name])]
            # Entries with the same last word: repeated ones, and titles before the same surname.
            last = filling[slot.key][0].split()[-1]
            taken[name].update(i for i, (male, _) in enumerate(entries) if male.split()[-1] == last)
        # The all-male reading stands for every other one: the lexicon pairs words one to one.
        reading = reading_of(template, filling, 0, dict.fromkeys(template.persons(), 0))
        if reading not in seen:
            seen.add(reading)
            return filling


def reading_of(
    template: Template, filling: Filling, protagonist: int, others: Mapping[str, int]
) -> tuple[str, ...]:
    """Return the words of one reading; genders are indices into ``GROUPS``."""
    return tuple(word for word, _ in spelled(template, filling, protagonist, others))


def spelled(
    template: Template, filling: Filling, protagonist: int, others: Mapping[str, int]
) -> list[tuple[str, Slot | None]]:
    """Return the words of one reading, each with the slot that it fills or None."""
    genders = {**others, PROTAGONIST: protagonist, NOBODY: protagonist}
    words: list[str] = []
    slots: list[Slot | None] = []
    for part in template.parts:
        slot = None if isinstance(part, str) else part
        if slot is None or slot.name == "a":
            chosen = ["{a}" if slot else str(part)]
        else:
            chosen = filling[slot.key][genders[slot.person]].split()
            if slot.form is not None:
                chosen = [chosen[VERB_FORMS.index(slot.form)]]
        words += chosen
        slots += [slot] * len(chosen)
    for i, word in enumerate(words):
        if word == "{a}":
            words[i] = _article(words[i + 1])
        if i == 0 or words[i - 1] == ".":
            words[i] = words[i][0].upper() + words[i][1:]
    return list(zip(words, slots, strict=True))


def _article(following: str) -> str:
    """Return the article that the sound of the following word takes."""
    following = following.lower()
    silent_h = following.startswith(("heir", "honest", "hour"))
    glide = following.startswith(("uni", "use", "eu", "one", "uk"))
    vowel = following[0] in "aeiou"
    return "an" if silent_h or (vowel and not glide) else "a"
