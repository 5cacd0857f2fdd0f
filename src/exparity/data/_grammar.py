"""Generator of sentence pairs with word-level gender rationales, in the manner of GECO.

Each pair is one filled template read twice, once with a male and once with a female protagonist.
The words that differ are the rationale: they, and nothing else, carry the label. Templates,
not only pairs, are held out for the test split, so that a test score cannot rest on a memorised
frame. The layout follows GECO (Wilming et al. 2024, arXiv:2406.11547); every sentence is new.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from exparity.data._lexicon import (
    GENDERED,
    MIXED,
    NEUTRAL,
    PRONOUNS,
    TEMPLATES,
    VERB_FORMS,
    VERBS,
    GenderedEntry,
    Template,
)

VARIANTS: tuple[str, ...] = ("all", "subj")
GENDERS: tuple[str, ...] = ("male", "female")
PROTAGONIST = "P"
NOBODY = ""

# Every template gives far more distinct pairs than its share of this many (see the tests), whatever
# the test share; a larger corpus would only repeat frames and names.
MAX_PAIRS = 10_000

_SLOT = re.compile(r"\{(?:(?P<person>[A-Z]):)?(?P<list>[a-z]+)(?:#\d)?(?:\.(?P<form>[a-z]+))?\}")
_MIN_TEST_TEMPLATES = 2


@dataclass(frozen=True)
class GeneratedSentence:
    """One sentence of a generated pair.

    Args:
        words: Pre-tokenised words; punctuation marks are words of their own.
        rationale: One 0 or 1 per word, 1 where the two sentences of the pair differ.
        gender: "male" or "female", the gender of the protagonist and the label.
        pair: Pair index, from 0; both sentences of a pair share it.
        template: Id of the template the pair was made from.
        split: "train" or "test", the same for all pairs of a template.
    """

    words: tuple[str, ...]
    rationale: tuple[int, ...]
    gender: str
    pair: int
    template: str
    split: str


@dataclass(frozen=True)
class _Slot:
    key: str
    person: str
    name: str
    form: str | None


@dataclass(frozen=True)
class _Frame:
    """A parsed template: literal words and slots in order."""

    template: Template
    parts: tuple[str | _Slot, ...]

    def slots(self) -> Iterator[_Slot]:
        return (part for part in self.parts if isinstance(part, _Slot))

    def persons(self) -> list[str]:
        return sorted({slot.person for slot in self.slots() if slot.person != NOBODY})

    def features(self) -> frozenset[str]:
        """What training must also offer: the kind and every gendered form."""
        forms = {slot.name for slot in self.slots() if slot.person != NOBODY}
        return frozenset(forms | {self.template.kind})


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
) -> list[GeneratedSentence]:
    """Generate sentence pairs that differ in the gender of their protagonist only.

    The two variants of one seed share templates, fillings and splits. They differ in the further
    persons of a sentence: in "all" these have the gender of the protagonist, in "subj" each keeps
    one gender in both sentences of the pair, drawn evenly and independently of the label.

    Args:
        variant: "all" or "subj".
        n_pairs: Number of pairs, 1 to 10,000; twice as many sentences are returned.
        test_share: Share of pairs, and about the share of templates, in the test split; in (0, 1).
            Both splits get at least one pair where there are two pairs or more.
        seed: Seed of every draw; the same on every machine, process and Python build.

    Returns:
        2 * n_pairs sentences in pair order, male before female. No sentence occurs twice. From
        a few hundred training pairs on, each gendered word of the test split occurs in training.

    Raises:
        ValueError: an argument is outside its range; names argument, value and range.
    """
    _check_arguments(variant, n_pairs, test_share)
    schedule = _schedule(n_pairs, test_share, seed)
    dealers = {split: _Dealer(_stream(seed, "fill", split)) for split in ("train", "test")}
    genders = {split: _Dealer(_stream(seed, "others", split)) for split in ("train", "test")}
    sentences: list[GeneratedSentence] = []
    seen: set[tuple[str, ...]] = set()
    for pair, (frame, split) in enumerate(schedule):
        filling = _new_filling(frame, dealers[split], seen)
        others = [person for person in frame.persons() if person != PROTAGONIST]
        fixed = {person: genders[split].deal(person, len(GENDERS), set()) for person in others}
        sentences.extend(_pair_sentences(frame, filling, pair, split, variant, fixed))
    return sentences


def _check_arguments(variant: str, n_pairs: int, test_share: float) -> None:
    if variant not in VARIANTS:
        raise ValueError(f"variant is {variant!r}; allowed are {', '.join(map(repr, VARIANTS))}")
    if not 1 <= n_pairs <= MAX_PAIRS:
        raise ValueError(f"n_pairs is {n_pairs}; allowed are 1 to {MAX_PAIRS}")
    if not 0.0 < test_share < 1.0:
        raise ValueError(f"test_share is {test_share}; it must lie between 0 and 1, both excluded")


def _stream(seed: int, *purpose: str) -> random.Random:
    """Return a generator of its own for one purpose; text seeds are hashed by SHA-512."""
    return random.Random(":".join(("exparity-grammar", str(seed), *purpose)))


@cache
def _frames() -> tuple[_Frame, ...]:
    return tuple(
        _Frame(template, tuple(_parse_word(word) for word in template.text.split()))
        for template in TEMPLATES
    )


def _parse_word(word: str) -> str | _Slot:
    match = _SLOT.fullmatch(word)
    if match is None:
        return word
    key = word.strip("{}").split(".")[0]
    return _Slot(key, match["person"] or NOBODY, match["list"], match["form"])


def _split_frames(test_share: float, seed: int) -> tuple[list[_Frame], list[_Frame]]:
    """Part the templates into training and test; test has no gendered form training lacks."""
    frames = list(_frames())
    _stream(seed, "split").shuffle(frames)
    wanted = max(_MIN_TEST_TEMPLATES, round(test_share * len(frames)))
    supply = Counter(feature for frame in frames for feature in frame.features())
    # One template of each kind goes first, so that the smallest test split covers both.
    leaders = [next(f for f in frames if f.template.kind == kind) for kind in ("subject", "object")]
    test: list[_Frame] = []
    for frame in [*leaders, *(f for f in frames if f not in leaders)]:
        spare = all(supply[feature] > 1 for feature in frame.features())
        if spare and len(test) < wanted:
            test.append(frame)
            supply.subtract(frame.features())
    return [frame for frame in frames if frame not in test], test


def _schedule(n_pairs: int, test_share: float, seed: int) -> list[tuple[_Frame, str]]:
    """Give every pair its template and split, each template used equally often in its split."""
    train, test = _split_frames(test_share, seed)
    n_test = min(max(1, round(test_share * n_pairs)), n_pairs - 1)
    plan = [(test[i % len(test)], "test") for i in range(n_test)]
    plan += [(train[i % len(train)], "train") for i in range(n_pairs - n_test)]
    _stream(seed, "order").shuffle(plan)
    return plan


def _new_filling(
    frame: _Frame, dealer: _Dealer, seen: set[tuple[str, ...]]
) -> dict[str, GenderedEntry]:
    """Deal fillings until one is new.

    The all-male reading stands for every other one: the lexicon pairs words one to one.
    """
    while True:
        filling = _deal_filling(frame, dealer)
        reading = tuple(_render(frame, filling, 0, dict.fromkeys(frame.persons(), 0)))
        if reading not in seen:
            seen.add(reading)
            return filling


def _deal_filling(frame: _Frame, dealer: _Dealer) -> dict[str, GenderedEntry]:
    """Choose an entry for each slot; slots that draw on one list get different entries."""
    filling: dict[str, GenderedEntry] = {}
    taken: dict[str, set[int]] = {}
    for slot in frame.slots():
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
        used.update(_alike(entries, index))
        filling[slot.key] = entries[index]
    return filling


def _alike(entries: Sequence[GenderedEntry], index: int) -> Iterator[int]:
    """Entries with the same last word: repeated entries, and titles before the same surname."""
    last = entries[index][0].split()[-1]
    return (i for i, entry in enumerate(entries) if entry[0].split()[-1] == last)


@cache
def _entries(name: str) -> tuple[GenderedEntry, ...]:
    if name in GENDERED:
        return GENDERED[name]
    return tuple((entry, entry) for entry in (NEUTRAL[name] if name in NEUTRAL else VERBS[name]))


def _render(
    frame: _Frame, filling: Mapping[str, GenderedEntry], protagonist: int, others: Mapping[str, int]
) -> list[str]:
    """Write the words of one reading; genders are indices into ``GENDERS``."""
    genders = {**others, PROTAGONIST: protagonist, NOBODY: protagonist}
    words: list[str] = []
    for part in frame.parts:
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


def _pair_sentences(
    frame: _Frame,
    filling: Mapping[str, GenderedEntry],
    pair: int,
    split: str,
    variant: str,
    fixed: Mapping[str, int],
) -> Iterator[GeneratedSentence]:
    """Read one filled template with a male and with a female protagonist."""
    others = [dict.fromkeys(fixed, gender) if variant == "all" else fixed for gender in (0, 1)]
    male, female = (_render(frame, filling, gender, others[gender]) for gender in (0, 1))
    rationale = tuple(int(one != other) for one, other in zip(male, female, strict=True))
    for gender, words in zip(GENDERS, (male, female), strict=True):
        yield GeneratedSentence(tuple(words), rationale, gender, pair, frame.template.id, split)
