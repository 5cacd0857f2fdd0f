"""Generators of any attribute, what is refused, and which words a counterfactual changes."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import refused_by

from exparity.core.errors import InputError
from exparity.counterfactuals import changed_words, counterfactuals_of
from exparity.data.table import PreparedData
from exparity.types import Example

REFUSED = refused_by(__file__)

RACES = ("black", "white", "asian")
PAIRS = {"pairs": {"male": "female", "veteran": "nurse"}}
CSV = "white,note,black,asian\nAnne Smith,x,Keisha,Mei Ling\ncaucasian,y,african-american,Asian\n"


def example(text, group, id="x", **more):
    return Example(id, tuple(text.split()), more.pop("label", 0), group, "train", **more)


def data_of(examples, groups, labels=("a", "b")):
    return PreparedData("mine", tuple(examples), tuple(groups), labels, "attribute")


def made(text, own, groups, use="word_pairs", **params):
    """Return what becomes of a text, by group."""
    one = example(text, own)
    make = counterfactuals_of(data_of([one], groups), use, params)
    return {other.group: " ".join(other.words) for other in make(one)}


@pytest.fixture
def names(tmp_path):
    path = tmp_path / "names.csv"
    path.write_text(CSV)
    return str(path)


class TestWordPairs:
    def test_words_of_two_groups_are_swapped_in_their_spelling(self):
        text = "A male , Male veteran (MALE) and males"
        expected = {"f": "A female , Female nurse (FEMALE) and males"}
        assert made(text, "m", ("m", "f"), **PAIRS) == expected
        assert made(expected["f"], "f", ("m", "f"), **PAIRS) == {"m": text}

    def test_set_takes_the_order_of_the_groups(self):
        text = "male and female"
        for groups, word in ((("m", "f"), "female"), (("f", "m"), "male")):
            found = made(text, "m", groups, mode="set", **PAIRS)
            assert found == {"f": f"{word} and {word}"}

    def test_three_groups_get_one_each_and_the_third_keeps_its_words(self, names):
        text = "Keisha met Anne Smith, who is asian."
        found = made(text, "black", RACES, pairs_file=names)
        assert found["white"] == "Anne Smith met Keisha, who is asian."
        assert found["asian"] == "Mei Ling met Anne Smith, who is african-american."
        found = made("Keisha met Mei Ling", "black", RACES, pairs_file=names, mode="set")
        assert found == {"white": "Anne Smith met Anne Smith", "asian": "Mei Ling met Mei Ling"}

    def test_groups_have_the_order_of_the_data_which_changes_no_text(self, names):
        text = "An African-American and KEISHA's aunt"
        results = [made(text, "black", order, pairs_file=names) for order in permutations(RACES)]
        assert results == [results[0]] * 6
        assert results[0]["white"] == "An Caucasian and ANNE SMITH's aunt"
        assert [list(r) for r in results][:2] == [["white", "asian"], ["asian", "white"]]

    def test_a_rationale_is_unknown_where_words_come_or_go(self, names):
        one = example("Keisha sings", "black", rationale=(1, 0))
        make = counterfactuals_of(data_of([one], RACES), "word_pairs", {"pairs_file": names})
        assert [other.rationale for other in make(one)] == [None, None]
        one = example("caucasian sings", "white", rationale=(1, 0))
        assert [other.rationale for other in make(one)] == [(1, 0), (1, 0)]

    @pytest.mark.parametrize(("groups", "params", "text", "message"), REFUSED["word_pairs"])
    def test_bad_options_and_files_are_refused(self, tmp_path, groups, params, text, message):
        if text is not None:
            path = tmp_path / "names.csv"
            path.write_text(text)
            params = {"pairs_file": str(path)}
        with pytest.raises(InputError, match=message):
            made("x", groups[0], groups, **params)


MEMBERS = (
    example("he came", "m", "1-m", match_id="1"),
    example("she came along", "f", "1-f", match_id="1", rationale=(1, 0, 0)),
    example("he left", "m", "2-m", match_id="2"),
    example("he stayed", "m", "3-m"),
)


def test_matched_is_the_other_member_or_none():
    make = counterfactuals_of(data_of(MEMBERS, ("m", "f")), "matched", {})
    found = [make(member) for member in MEMBERS]
    assert [len(others) for others in found] == [1, 1, 0, 0]
    (other,) = found[0]
    assert (other.example_id, other.group, other.words) == ("1-m", "f", MEMBERS[1].words)


PAIR = [example("he", "male", "1", label=0), example("she", "female", "2", label=1)]
SET = [replace(one, match_id="one") for one in PAIR]
OTHERS = [example("he", "male", "3", label=1), example("she", "female", "4", label=0)]


@pytest.mark.parametrize(
    ("use", "examples", "groups", "message"),
    [
        (
            "matched",
            [*OTHERS, *SET],
            ("male", "female"),
            "another group is another label in 'mine'",
        ),
        ("gender_words", PAIR, ("male", "female"), "another group is another label in 'mine'"),
        (
            "gender_pronouns",
            PAIR,
            ("male", "female", "x"),
            "makes the groups male, female, and not",
        ),
    ],
)
def test_data_that_a_generator_cannot_serve_are_refused(use, examples, groups, message):
    with pytest.raises(InputError, match=message) as error:
        counterfactuals_of(data_of(examples, groups), use, {})
    assert "\n" not in str(error.value)


@pytest.mark.property
@given(st.lists(st.sampled_from("abcd")), st.lists(st.sampled_from("abcd")))
def test_unmarked_words_are_in_both_texts_in_order(words, others):
    changed = changed_words(words, others)
    assert changed.dtype == np.bool_
    assert changed.shape == (len(words),)
    kept = iter(others)
    assert all(word in kept for word, mark in zip(words, changed, strict=True) if not mark)
    if len(words) == len(others):
        assert changed.tolist() == [one != other for one, other in zip(words, others, strict=True)]
    assert not changed_words(words, words).any()


def test_words_that_come_or_go():
    assert changed_words(["he", "is", "a", "x"], ["she", "is", "x"]).tolist() == [1, 0, 1, 0]
    assert changed_words(["he", "is"], ["he", "really", "is"]).tolist() == [0, 0]
