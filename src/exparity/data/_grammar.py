"""Generator of sentence pairs with word-level gender rationales, in the manner of GECO.

Each pair is one filled template read twice, once with a male and once with a female protagonist.
The words that differ are the rationale: they, and nothing else, carry the label. Templates,
not only pairs, are held out for the test split, so that a test score cannot rest on a memorised
template. The layout follows GECO (Wilming et al. 2024, arXiv:2406.11547); every sentence is new.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from exparity.core.strict import read_yaml
from exparity.data._genders import GROUPS, LABELS
from exparity.data.files import shipped
from exparity.interface import Example

Split = Literal["train", "test"]
_MIN_TEST_TEMPLATES = 2
GenderedEntry = tuple[str, str]
# A change of the words changes this file, and so the workflow runs again what they made.
DIGESTS = {
    "lexicon.yaml": "5a566db7388c39e2ada44039931686bca3a17d8330019491c07b964d3dc72f23",
    "templates.yaml": "c9b15d23033125a47e6e2f2eee669802b9cba4ec6a0f50e774faf213dd71c9f3",
}


PROTAGONIST = "P"
NOBODY = ""
_SLOT = re.compile(r"\{(?:(?P<person>[A-Z]):)?(?P<list>[a-z]+)(?:#\d)?(?:\.(?P<form>[a-z]+))?\}")


@dataclass(frozen=True)
class Slot:
    """A word of a template that is filled: with what, and for whom."""

    key: str
    person: str
    name: str
    form: str | None


@dataclass(frozen=True)
class Template:
    """One authored sentence pattern.

    Attributes:
        id: slug, unique in the grammar.
        kind: ``subject`` or ``object``: the place of the protagonist in the main clause.
        parts: literal words and slots in order.
    """

    id: str
    kind: str
    parts: tuple[str | Slot, ...]

    def slots(self) -> Iterator[Slot]:
        """Yield the slots in order."""
        return (part for part in self.parts if isinstance(part, Slot))

    def persons(self) -> list[str]:
        """Return the persons that it mentions, sorted."""
        return sorted({slot.person for slot in self.slots() if slot.person != NOBODY})

    def features(self) -> frozenset[str]:
        """Return what training must also offer: the kind and every gendered form."""
        forms = {slot.name for slot in self.slots() if slot.person != NOBODY}
        return frozenset(forms | {self.kind})


def parse(text: str) -> tuple[str | Slot, ...]:
    """Part the text of a template into words and slots."""
    matches = ((word, _SLOT.fullmatch(word)) for word in text.split())
    return tuple(
        Slot(word.strip("{}").split(".")[0], m["person"] or NOBODY, m["list"], m["form"])
        if m
        else word
        for word, m in matches
    )


def _pairs(text: str) -> tuple[GenderedEntry, ...]:
    """Part ``male female, male female`` into entries."""
    pairs = (pair.split() for pair in text.split(","))
    return tuple((male, female) for male, female in pairs)


def _items(text: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(";"))


def _gendered(lexicon: Mapping[str, Any]) -> dict[str, tuple[GenderedEntry, ...]]:
    titles = {_pairs(pair)[0]: weight for pair, weight in lexicon["titles"].items()}
    elders, roles = _pairs(lexicon["elders"]), _pairs(lexicon["roles"])
    return {
        "name": _pairs(lexicon["names"]),
        "role": tuple((f"the {male}", f"the {female}") for male, female in roles),
        "title": tuple(
            (f"{male} {surname}", f"{female} {surname}")
            for (male, female), weight in titles.items()
            for surname in _items(lexicon["surnames"])
            for _ in range(weight)
        ),
        "kin": elders + _pairs(lexicon["younger_kin"]),
        "elder": elders,
        "child": _pairs(lexicon["children"]),
        "wed": _pairs(lexicon["weds"]),
        "spouse": _pairs(lexicon["spouses"]),
    }


_FOLDER = shipped("gender_pairs", DIGESTS)
_LEXICON = read_yaml(_FOLDER / "lexicon.yaml")

GENDERED = _gendered(_LEXICON)
MIXED: dict[str, tuple[str, ...]] = {
    name: tuple(entry for entry, weight in weights.items() for _ in range(weight))
    for name, weights in _LEXICON["mixed"].items()
}
PRONOUNS: dict[str, GenderedEntry] = {
    form: _pairs(entry)[0] for form, entry in _LEXICON["pronouns"].items()
}
VERB_FORMS: tuple[str, ...] = tuple(_LEXICON["verb_forms"].split())
VERBS: Mapping[str, Sequence[str]] = _LEXICON["verbs"]
NEUTRAL: dict[str, tuple[str, ...]] = {
    name: _items(fillers) for name, fillers in _LEXICON["neutral"].items()
}
TEMPLATES: tuple[Template, ...] = tuple(
    Template(slug, kind, parse(text))
    for kind, texts in read_yaml(_FOLDER / "templates.yaml").items()
    for slug, text in texts.items()
)


class _Dealer:
    """Deals list indices like cards, so that every entry comes up before any comes up again.

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
    """Generate sentence pairs that differ in the gender of their protagonist only.

    The two variants of one seed share templates, fillings and splits. They differ in the further
    persons of a sentence: in "all" these have the gender of the protagonist, in "subj" each keeps
    one gender in both sentences of the pair, drawn evenly and independently of the label.

    Args:
        variant: "all" or "subj".
        n_pairs: number of pairs, 1 to ``pairs.MAX_PAIRS``; there are twice as many sentences.
        test_share: share of pairs, and about the share of templates, in the test split; in (0, 1).
            Both splits get at least one pair where there are two pairs or more.
        seed: seed of every draw; the same on every machine, process and Python build.

    Returns:
        2 * n_pairs sentences in pair order, male before female. Group and label are the gender of
        the protagonist, the rationale marks the words in which the pair differs, and punctuation
        marks are words. No sentence occurs twice. From a few hundred training pairs on, each
        gendered word of the test split occurs in training.
    """
    schedule = _schedule(n_pairs, test_share, seed)
    dealers = {split: _Dealer(_stream(seed, "fill", split)) for split in ("train", "test")}
    genders = {split: _Dealer(_stream(seed, "others", split)) for split in ("train", "test")}
    sentences: list[Example] = []
    seen: set[tuple[str, ...]] = set()
    for pair, (template, split) in enumerate(schedule):
        filling = _new_filling(template, dealers[split], seen)
        others = [person for person in template.persons() if person != PROTAGONIST]
        fixed = {person: genders[split].deal(person, len(GROUPS), set()) for person in others}
        readings = [
            _render(template, filling, gender, dict.fromkeys(fixed, gender))
            if variant == "all"
            else _render(template, filling, gender, fixed)
            for gender in range(len(GROUPS))
        ]
        rationale = tuple(int(one != other) for one, other in zip(*readings, strict=True))
        sentences += [
            Example(
                example_id=f"{pair:04d}-{gender}",
                words=tuple(words),
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


def _stream(seed: int, *purpose: str) -> random.Random:
    """Return a generator of its own for one purpose; text seeds are hashed by SHA-512."""
    return random.Random(":".join(("exparity-grammar", str(seed), *purpose)))


def _split_templates(test_share: float, seed: int) -> tuple[list[Template], list[Template]]:
    """Part the templates into training and test; test has no gendered form training lacks."""
    templates = list(TEMPLATES)
    _stream(seed, "split").shuffle(templates)
    wanted = max(_MIN_TEST_TEMPLATES, round(test_share * len(templates)))
    supply = Counter(feature for t in templates for feature in t.features())
    # One template of each kind goes first, so that the smallest test split covers both.
    leaders = [next(t for t in templates if t.kind == kind) for kind in ("subject", "object")]
    test: list[Template] = []
    for template in [*leaders, *(t for t in templates if t not in leaders)]:
        spare = all(supply[feature] > 1 for feature in template.features())
        if spare and len(test) < wanted:
            test.append(template)
            supply.subtract(template.features())
    return [t for t in templates if t not in test], test


def _schedule(n_pairs: int, test_share: float, seed: int) -> list[tuple[Template, Split]]:
    """Give every pair its template and split; of a split, each template is used equally often."""
    train, test = _split_templates(test_share, seed)
    n_test = min(max(1, round(test_share * n_pairs)), n_pairs - 1)
    plan: list[tuple[Template, Split]] = [(test[i % len(test)], "test") for i in range(n_test)]
    plan += [(train[i % len(train)], "train") for i in range(n_pairs - n_test)]
    _stream(seed, "order").shuffle(plan)
    return plan


def _new_filling(
    template: Template, dealer: _Dealer, seen: set[tuple[str, ...]]
) -> dict[str, GenderedEntry]:
    """Deal fillings until one is new.

    The all-male reading stands for every other one: the lexicon pairs words one to one.
    """
    while True:
        filling = _deal_filling(template, dealer)
        reading = tuple(_render(template, filling, 0, dict.fromkeys(template.persons(), 0)))
        if reading not in seen:
            seen.add(reading)
            return filling


def _deal_filling(template: Template, dealer: _Dealer) -> dict[str, GenderedEntry]:
    """Choose an entry for each slot; slots that draw on one list get different entries."""
    filling: dict[str, GenderedEntry] = {}
    taken: dict[str, set[int]] = {}
    for slot in template.slots():
        if slot.key in filling or slot.name == "a":
            continue
        if slot.person != NOBODY and slot.name in PRONOUNS:
            filling[slot.key] = PRONOUNS[slot.name]
            continue
        name = slot.name
        if name in MIXED:
            name = MIXED[name][dealer.deal(name, len(MIXED[name]), set())]
        entries = _entries(name)
        used = taken.setdefault(name, set())
        index = dealer.deal(name, len(entries), used)
        # Entries with the same last word: repeated ones, and titles before the same surname.
        last = entries[index][0].split()[-1]
        used.update(i for i, entry in enumerate(entries) if entry[0].split()[-1] == last)
        filling[slot.key] = entries[index]
    return filling


@cache
def _entries(name: str) -> tuple[GenderedEntry, ...]:
    if name in GENDERED:
        return GENDERED[name]
    return tuple((entry, entry) for entry in (NEUTRAL[name] if name in NEUTRAL else VERBS[name]))


def _render(
    template: Template,
    filling: Mapping[str, GenderedEntry],
    protagonist: int,
    others: Mapping[str, int],
) -> list[str]:
    """Write the words of one reading; genders are indices into ``GROUPS``."""
    genders = {**others, PROTAGONIST: protagonist, NOBODY: protagonist}
    words: list[str] = []
    for part in template.parts:
        if isinstance(part, str):
            words.append(part)
        elif part.name == "a":
            words.append("{a}")
        else:
            text = filling[part.key][genders[part.person]]
            chosen = text if part.form is None else text.split()[VERB_FORMS.index(part.form)]
            words.extend(chosen.split())
    resolved = [_article(words, i) if word == "{a}" else word for i, word in enumerate(words)]
    return [resolved[0][0].upper() + resolved[0][1:], *resolved[1:]]


def _article(words: Sequence[str], place: int) -> str:
    """Choose the article by the sound that follows."""
    following = words[place + 1].lower()
    silent_h = following.startswith(("heir", "honest", "hour"))
    glide = following.startswith(("uni", "use", "eu", "one", "uk"))
    vowel = following[0] in "aeiou"
    return "an" if silent_h or (vowel and not glide) else "a"
