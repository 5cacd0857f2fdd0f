"""Stereotypes: what the shipped sentences promise, and what their reader refuses."""

from collections import defaultdict
from pathlib import Path

import pytest
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from exparity.counterfactuals._gendered import LEXICON
from exparity.data import load_dataset
from exparity.data.files import DataSource

NOWHERE = DataSource(Path("nowhere"), download=False)


@pytest.fixture(scope="module")
def examples():
    return load_dataset("stereotypes", NOWHERE)


@pytest.fixture(scope="module")
def pairs(examples):
    """(male, female) by pair id."""
    found = defaultdict(dict)
    for example in examples:
        found[example.match_id][example.group] = example
    return {key: (pair["male"], pair["female"]) for key, pair in sorted(found.items())}


def neutral(example):
    """The words of a pair without what tells its gender."""
    marks = zip(example.words, example.rationale, strict=True)
    return ["_" if mark else word.lower() for word, mark in marks]


class TestPairs:
    def test_the_sentences_differ_at_the_rationale_and_nowhere_else(self, pairs):
        for male, female in pairs.values():
            differ = tuple(int(a != b) for a, b in zip(male.words, female.words, strict=True))
            assert male.rationale == female.rationale == differ
            assert any(differ)

    def test_every_gendered_word_is_swapped(self, examples):
        names = {"male", "female", *LEXICON.telling["male"], *LEXICON.telling["female"]}
        for example in examples:
            marks = zip(example.words, example.rationale, strict=True)
            kept = {word.lower() for word, mark in marks if not mark}
            assert not kept & names, f"{example.example_id}: {example.text}"


class TestLeakage:
    def test_no_phrase_of_the_test_split_was_seen_in_training(self, examples):
        """Beyond frames: no three content words in a row, whatever stands between them."""

        def phrases(example):
            words = [w for w in neutral(example) if w.isalpha() and w not in ENGLISH_STOP_WORDS]
            return set(zip(words, words[1:], words[2:], strict=False))

        seen = {"train": set(), "test": set()}
        for example in examples:
            seen[example.split] |= phrases(example)
        assert len(seen["test"]) > 500
        assert seen["train"] & seen["test"] == set()

    def test_a_theme_is_in_one_split(self, examples):
        """A theme is a stereotype of women and one of men on the same matter."""
        splits = defaultdict(set)
        for example in examples:
            splits[example.attributes["stereotype"].rpartition("-")[0]].add(example.split)
        assert len(splits) == 236
        assert all(len(found) == 1 for found in splits.values())
