"""Biographies: known causal truth, populations as asked for, wording, splits and refusals."""

import re
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import refused_by

from exparity.core.errors import InputError
from exparity.data import load_dataset
from exparity.data._biographies import (
    HOMES,
    KINDS,
    OCCUPATION_WORDS,
    OCCUPATIONS,
    SHARED,
)
from exparity.data.bios import LABELS, MAX_BIOGRAPHIES, MIN_BIOGRAPHIES
from exparity.data.files import DataSource

REFUSED = refused_by(__file__)

NOWHERE = DataSource(Path("nowhere"), download=False)
# Written apart from the data: all words that tell a gender, by what they are for a man.
SWAPS = {"mr.": "ms.", "he": "she", "his": "her", "him": "her", "himself": "herself"}
GENDERED = {*SWAPS, *SWAPS.values()}
LARGER = {"baker": "male", "gardener": "female", "journalist": "male", "pharmacist": "female"}
SEEDS = st.integers(-(10**9), 10**9)
SHARES = st.floats(0, 1, exclude_min=True, exclude_max=True)


def bios(**options):
    return load_dataset("bios", NOWHERE, options)


def observed(**options):
    return bios(paired=False, **options)


@pytest.fixture(scope="module")
def default():
    return bios()


def by_set(examples):
    """(male, female) of each biography."""
    members = defaultdict(dict)
    for example in examples:
        members[example.match_id][example.group] = example
    return [(versions["male"], versions["female"]) for versions in members.values()]


def assert_versions(male, female):
    """Two texts are one biography: they differ in gendered words, each in its partner."""
    for he, she in zip(male, female, strict=True):
        if he.lower() in GENDERED:
            assert she.lower() == SWAPS[he.lower()]
            assert he[0].isupper() == she[0].isupper()
        else:
            assert he == she
    assert male != female


def words_of(occupation, *kinds):
    return {entry for kind in kinds for entry, _ in OCCUPATION_WORDS[f"{occupation} {kind}"]}


# Pairs


def test_rationale_marks_the_own_occupation_and_nothing_else(default):
    kinds = ("goods", "site", "craft")
    owner = {phrase: o for o in OCCUPATIONS for phrase in words_of(o, *kinds)}
    tasks = {
        o: {form for task in words_of(o, "task") for form in task.split()} for o in OCCUPATIONS
    }
    asides = 0
    for example in default:
        own = LABELS[example.label]
        expected = [int(word in tasks[own]) for word in example.words]
        for i in range(len(example.words)):
            for size in (1, 2):
                occupation = owner.get(" ".join(example.words[i : i + size]))
                if occupation:
                    expected[i : i + size] = [int(occupation == own)] * size
                    asides += occupation != own
        assert list(example.rationale) == expected, example
    assert asides >= len(default) / 8


# Populations


@pytest.mark.property
@settings(max_examples=6)
@given(proxy=st.floats(0, 1), imbalance=st.floats(0.5, 1), seed=SEEDS)
def test_proxy_is_met_within_sampling_error(proxy, imbalance, seed):
    n = 1000
    people = observed(n_biographies=n, proxy=proxy, imbalance=imbalance, generator_seed=seed)
    own = sum(e.attributes["home"] == e.group for e in people) / n
    assert abs(2 * own - 1 - proxy) <= 5 * ((1 - proxy**2) / n) ** 0.5 + 1e-9
    for example in people:
        towns = {town for town, _ in HOMES[f"home {example.attributes['home']}"]}
        assert len(towns & set(example.words)) == 1


@pytest.mark.property
@settings(max_examples=8)
@given(ambiguity=st.floats(0, 1), paired=st.booleans(), seed=SEEDS)
def test_what_is_ambiguous_tells_both_of_two_occupations_and_neither(ambiguity, paired, seed):
    n = 200
    options = {"n_biographies": n, "paired": paired, "generator_seed": seed}
    people = bios(**options, ambiguity=ambiguity)
    own = {
        work: {word for entry in words_of(work, *KINDS) for word in entry.split()}
        for work in (*OCCUPATIONS, *SHARED.values())
    }
    n_ambiguous = 0
    for example in people:
        work = OCCUPATIONS[example.label]
        marked = zip(example.words, example.rationale, strict=True)
        told = {word[0].lower() + word[1:] for word, is_own in marked if is_own}
        if told <= own[SHARED[work]]:
            n_ambiguous += 1
            # Nor does anybody else's occupation tell which of the two is left.
            phrases = set().union(
                *(words_of(one, "goods", "site", "craft") for one in SHARED[work].split())
            )
            assert not any(f" {phrase} " in f" {example.text} " for phrase in phrases)
        else:
            assert told <= own[work]
    share = n_ambiguous / len(people)
    assert abs(share - ambiguity) <= 5 * (ambiguity * (1 - ambiguity) / n) ** 0.5 + 1e-9
    # Nobody's gender, label or town depends on it.
    facts = [(e.split, e.label, e.group, e.attributes["home"]) for e in people]
    assert facts == [(e.split, e.label, e.group, e.attributes["home"]) for e in bios(**options)]


@pytest.mark.parametrize("group", ["male", "female"])
def test_one_gender_alone_can_be_ambiguous(group):
    shared = {word for of in SHARED.values() for word in words_of(of, *KINDS)}
    planted = observed(ambiguity=1.0, ambiguous_group=group)
    plain, all_of_them = observed(), observed(ambiguity=1.0)
    for one, clear, open_ in zip(planted, plain, all_of_them, strict=True):
        assert (one.label, one.group) == (clear.label, clear.group) == (open_.label, open_.group)
        text = " ".join(one.words).lower()
        assert any(words.lower() in text for words in shared) == (one.group == group)


# Corpus


def assert_imbalance_is_met_to_the_nearest_person(people, imbalance):
    counts = Counter((e.split, LABELS[e.label], e.group) for e in people)
    sizes = Counter((e.split, LABELS[e.label]) for e in people)
    assert len(sizes) == 2 * len(LABELS)
    for (split, occupation), size in sizes.items():
        larger = counts[split, occupation, LARGER[occupation]]
        assert abs(larger - imbalance * size) <= 0.5 + 1e-9


def assert_the_counterfactual_is_the_other_version_with_the_same_town(person):
    versions = [person.words, tuple(person.attributes["counterfactual"].split())]
    assert_versions(*(versions if person.group == "male" else versions[::-1]))
    assert person.match_id is None


@pytest.mark.property
@given(
    n=st.integers(MIN_BIOGRAPHIES, 200),
    paired=st.booleans(),
    observed=st.fixed_dictionaries({"imbalance": st.floats(0.5, 1), "proxy": st.floats(0, 1)}),
    share=SHARES,
    seed=SEEDS,
)
def test_biographies_of_any_allowed_arguments_are_repeatable_and_distinct(
    n, paired, observed, share, seed
):
    options = {"n_biographies": n, "test_share": share, "generator_seed": seed, "paired": paired}
    if not paired:
        options |= observed
    examples = bios(**options)
    assert examples == bios(**options)
    assert len({e.words for e in examples}) == len(examples) == (2 * n if paired else n)
    for male, female in by_set(examples) if paired else ():
        assert_versions(male.words, female.words)
        assert replace(male, example_id="", words=()) == replace(
            female, example_id="", words=(), group="male"
        )
    if not paired:
        assert_imbalance_is_met_to_the_nearest_person(examples, observed["imbalance"])
        for person in examples:
            assert_the_counterfactual_is_the_other_version_with_the_same_town(person)
    splits = defaultdict(set)
    for example in examples:
        splits[example.attributes["template"]].add(example.split)
    assert all(len(used) == 1 for used in splits.values())
    for split in ("train", "test"):
        assert {e.group for e in examples if e.split == split} == {"male", "female"}
        assert {e.label for e in examples if e.split == split} == set(range(len(LABELS)))


# Where few templates have most to do.
@pytest.mark.parametrize(
    ("share", "ambiguity"), [(0.02, 0.0), pytest.param(0.98, 1.0, marks=pytest.mark.exhaustive)]
)
def test_the_largest_corpus_can_be_given(share, ambiguity):
    people = observed(n_biographies=MAX_BIOGRAPHIES, test_share=share, ambiguity=ambiguity)
    assert len({e.words for e in people}) == MAX_BIOGRAPHIES


@pytest.mark.parametrize(
    ("options", "message"), REFUSED["options_without_effect_or_out_of_range_are_refused"]
)
def test_options_without_effect_or_out_of_range_are_refused(options, message):
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        bios(**options)
    assert "\n" not in str(caught.value)
