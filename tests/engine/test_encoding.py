"""Tokens, the words they belong to, and texts that are too long or empty."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exparity import InputError
from exparity.models.inputs import words_of_tokens
from exparity.types import SPECIAL_WORD, Text


def test_tokens_go_to_the_word_of_their_first_visible_character():
    # "ab cd": a token with a leading blank, one inside a word, one across two words, a special one
    offsets = [(0, 0), (0, 1), (1, 4), (2, 5), (4, 5), (2, 3)]
    special = [1, 0, 0, 0, 0, 0]
    found = words_of_tokens(offsets, special, Text.of("ab cd"))
    assert found.tolist() == [SPECIAL_WORD, 0, 0, 1, 1, 1]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.text(
            st.characters(codec="utf-8", categories=("L", "N", "P", "S")), min_size=1, max_size=6
        ),
        min_size=1,
        max_size=6,
    )
)
def test_word_indices_never_leave_the_text(classifier, words):
    try:
        encoding = classifier.encode([words])[0]
    except InputError:
        return  # characters that the tokenizer drops altogether
    content = encoding.word_ids[~encoding.special_mask]
    assert ((content >= 0) & (content < len(words))).all()


def test_long_texts_are_cut_with_a_warning_and_a_count(classifier, caplog):
    long = " ".join(["mother"] * 300)
    encodings = classifier.encode([long, "She sings .", long])
    assert [e.truncated for e in encodings] == [True, False, True]
    assert len(encodings[0]) == classifier.max_length
    assert "2 of 3 texts are longer than 64 tokens and were cut" in caplog.text


@pytest.mark.parametrize("text", ["", "  ", [], [" "]])
def test_empty_text_is_named(classifier, text):
    with pytest.raises(InputError, match="text 1: is empty"):
        classifier.encode(["She sings .", text])


def test_text_without_any_token_is_named(classifiers):
    # A character that BERT's normaliser removes.
    with pytest.raises(InputError, match="has no token to explain"):
        classifiers["bert"].encode(["\x01"])
