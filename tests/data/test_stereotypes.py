"""Stereotypes: what the shipped sentences promise; a digest holds them still."""

from collections import defaultdict
from pathlib import Path

import pytest
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from exparity.counterfactuals._gendered import LEXICON
from exparity.data import load_dataset
from exparity.data.files import DataSource


@pytest.fixture(scope="module")
def examples():
    return load_dataset("stereotypes", DataSource(Path("nowhere"), download=False))


def test_the_sentences_of_a_pair_differ_at_the_rationale_alone(examples):
    pairs = defaultdict(dict)
    for example in examples:
        pairs[example.match_id][example.group] = example
    names = {"male", "female", *LEXICON.telling["male"], *LEXICON.telling["female"]}
    for pair in pairs.values():
        male, female = pair["male"], pair["female"]
        differ = tuple(int(a != b) for a, b in zip(male.words, female.words, strict=True))
        assert male.rationale == female.rationale == differ
        assert any(differ)
        marks = zip(male.words, differ, strict=True)
        assert not {word.lower() for word, mark in marks if not mark} & names, male.text


def test_no_three_content_words_in_a_row_are_in_both_splits(examples):
    seen = {"train": set(), "test": set()}
    for example in examples:
        marks = zip(example.words, example.rationale, strict=True)
        words = [word.lower() for word, mark in marks if not mark and word.isalpha()]
        words = [word for word in words if word not in ENGLISH_STOP_WORDS]
        seen[example.split] |= set(zip(words, words[1:], words[2:], strict=False))
    assert len(seen["test"]) > 500
    assert not seen["train"] & seen["test"]


def test_a_theme_is_in_one_split(examples):
    """A theme is a stereotype of women and one of men on the same matter."""
    splits = defaultdict(set)
    for example in examples:
        splits[example.attributes["stereotype"].rpartition("-")[0]].add(example.split)
    assert len(splits) == 236
    assert all(len(of_theme) == 1 for of_theme in splits.values())
