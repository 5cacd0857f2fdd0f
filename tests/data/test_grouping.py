"""Groups by words: counts against a naive loop, and ties."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exparity.data.grouping import NONE, TIED, most_named, term_counter

TERMS = {"young": ["teen", "student", "young man"], "old": ["pensioner", "man"]}


class TestCounts:
    @pytest.mark.parametrize(
        ("text", "young", "old"),
        [
            ("A teen , a Student .", 2, 0),
            ("teen's TEEN, (teen) teen-student teen/pensioner", 6, 1),
            ("teens pensioners manly human", 0, 0),
            ("young man young man man", 2, 1),
            ("young , man", 1, 0),
            ("young", 0, 0),
        ],
    )
    def test_by_hand(self, text, young, old):
        assert term_counter(TERMS)(text.split()) == {"young": young, "old": old}

    @given(st.lists(st.sampled_from(["he", "He's", "she", "(she", "the", "HE!", "he-she", "_he_"])))
    def test_by_a_naive_loop(self, words):
        count = term_counter({"male": ["he"], "female": ["she"]})
        expected = {"male": 0, "female": 0}
        for word in words:
            for part in re.split(r"[\W_]+", word.lower()):
                expected["male"] += part == "he"
                expected["female"] += part == "she"
        assert count(words) == expected

    @given(st.dictionaries(st.sampled_from("abcd"), st.integers(0, 3), min_size=2))
    def test_the_group_is_the_only_one_with_the_most(self, counts):
        group = most_named(counts)
        most = max(counts.values())
        if group in counts:
            assert all(n < counts[group] for name, n in counts.items() if name != group)
        elif group == TIED:
            assert most > 0
            assert list(counts.values()).count(most) > 1
        else:
            assert (group, most) == (NONE, 0)
