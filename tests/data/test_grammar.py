"""Generated gender corpus: pairs, rationales, splits and language of the authored grammar."""

from collections import defaultdict
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exparity.data._grammar import GENDERED, PRONOUNS, TEMPLATES, generate_pairs
from exparity.data.pairs import MAX_PAIRS

VARIANTS = ("all", "subj")


def _gendered_words(side: int) -> set[str]:
    entries = [entry for group in GENDERED.values() for entry in group] + list(PRONOUNS.values())
    return {
        words[side].lower()
        for entry in entries
        for words in zip(entry[0].split(), entry[1].split(), strict=True)
        if words[0] != words[1]
    }


MALE, FEMALE = _gendered_words(0), _gendered_words(1)


def _genders(words: Iterable[str]) -> list[str]:
    lowered = [word.lower() for word in words]
    return ["m" if word in MALE else "f" if word in FEMALE else "-" for word in lowered]


# Pairs and rationales


def test_all_has_one_gender_and_marks_every_gendered_word() -> None:
    for sentence in generate_pairs("all", seed=3):
        genders = _genders(sentence.words)
        assert set(genders) == {sentence.group[0], "-"}, sentence
        assert sentence.rationale == tuple(int(gender != "-") for gender in genders)


def test_subj_keeps_further_persons() -> None:
    persons = {template.id: template.persons() for template in TEMPLATES}
    sentences = generate_pairs("subj")
    for male, female in zip(sentences[::2], sentences[1::2], strict=True):
        fixed = [i for i, mark in enumerate(male.rationale) if not mark]
        kept = [_genders(male.words)[i] for i in fixed]
        assert kept == [_genders(female.words)[i] for i in fixed]
        # One further person: all kept words have that person's gender.
        others = len(persons[male.attributes["template"]]) - 1
        assert len(set(kept) - {"-"}) <= others
        assert (others > 0) == bool(set(kept) - {"-"})


# Corpus


@pytest.mark.parametrize(
    "share", [0.001, *(pytest.param(s, marks=pytest.mark.exhaustive) for s in (0.5, 0.999))]
)
def test_the_largest_corpus_can_be_given(share: float) -> None:
    sentences = generate_pairs("all", n_pairs=MAX_PAIRS, test_share=share)
    assert len({sentence.words for sentence in sentences}) == 2 * MAX_PAIRS


@pytest.mark.parametrize("seed", range(2))
def test_gendered_words_and_kinds_of_test_are_in_train(seed: int) -> None:
    sentences = generate_pairs("all", n_pairs=600, seed=seed)
    kinds = {template.id: template.kind for template in TEMPLATES}
    words: dict[str, set[str]] = defaultdict(set)
    seen: dict[str, set[str]] = defaultdict(set)
    for sentence in sentences:
        seen[sentence.split].add(kinds[sentence.attributes["template"]])
        lowered = map(str.lower, sentence.words)
        words[sentence.split].update(w for w in lowered if w in MALE | FEMALE)
    assert words["test"] <= words["train"]
    assert seen["test"] == seen["train"] == {"subject", "object"}


# Seeds and arguments


@given(
    variant=st.sampled_from(VARIANTS),
    n_pairs=st.integers(1, 150),
    share=st.floats(0.0, 1.0, exclude_min=True, exclude_max=True),
    seed=st.integers(-(10**9), 10**9),
)
def test_sentences_of_any_allowed_arguments_are_repeatable_and_distinct(
    variant: str, n_pairs: int, share: float, seed: int
) -> None:
    sentences = generate_pairs(variant, n_pairs=n_pairs, test_share=share, seed=seed)
    assert sentences == generate_pairs(variant, n_pairs=n_pairs, test_share=share, seed=seed)
    assert len({sentence.words for sentence in sentences}) == 2 * n_pairs
    assert [one.match_id for one in sentences[::2]] == [f"{i:04d}" for i in range(n_pairs)]
    splits = {sentence.attributes["template"]: sentence.split for sentence in sentences}
    assert all(splits[sentence.attributes["template"]] == sentence.split for sentence in sentences)
    assert set(splits.values()) == ({"train", "test"} if n_pairs > 1 else {"train"})
