"""Pairs of texts against the plain tokenizer and the plain model, which is told of token types."""

import numpy as np
import pytest
from engine.exact import plain_pair, plain_probabilities
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import PAIRS

from exparity import InputError
from exparity.engine.encoding import as_list
from exparity.engine.masking import MaskedTexts, kept_target_probabilities
from exparity.engine.preflight import check_function
from exparity.types import SPECIAL_WORD

WORDS = ["the", "waiter", "sings", "her", "don't", "harbour", ".", "Ärger", "thanked", "x-1"]
SIDES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4)  # within the model's 64 tokens
ONCE = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


@ONCE
@given(SIDES, SIDES)
def test_encoding_equals_the_tokenizer(pair_classifier, first, second):
    (encoding,) = pair_classifier.encode([(first, second)])
    ids, types = plain_pair(pair_classifier, (" ".join(first), " ".join(second)))
    found_ids, found_types = pair_classifier.split_types(encoding.token_ids)
    np.testing.assert_array_equal(found_ids, ids)
    np.testing.assert_array_equal(found_types, types)
    assert encoding.pair == (" ".join(first), " ".join(second))
    # Words by counting blanks before each token, text by text.
    batch = pair_classifier.tokenizer(*encoding.pair, return_offsets_mapping=True)
    for place, part in enumerate(batch.sequence_ids(0)):
        if part is None:
            assert encoding.word_ids[place] == SPECIAL_WORD
            continue
        start, end = batch["offset_mapping"][place]
        covered = encoding.pair[part][start:end]
        start += len(covered) - len(covered.lstrip())
        before = encoding.pair[part][:start].count(" ")
        assert encoding.word_ids[place] == before + part * len(first)
        own_start, own_end = encoding.offsets[place]
        assert encoding.text[own_start:own_end] == covered


def test_space_between_words_is_in_the_text(pair_classifier):
    (encoding,) = pair_classifier.encode([PAIRS[0]])
    separator = pair_classifier.tokenizer.sep_token
    assert encoding.text == f"{PAIRS[0][0]} {separator} {PAIRS[0][1]}"
    (between,) = np.flatnonzero(encoding.special_mask)[1:-1]
    start, end = encoding.offsets[between]
    assert encoding.text[start:end] == separator


def test_the_model_sees_the_pair_as_by_itself(pair_classifier):
    encodings = pair_classifier.encode([*PAIRS, PAIRS[0][0]])
    found = pair_classifier.probabilities([e.token_ids for e in encodings])
    for pair, row in zip(PAIRS, found, strict=False):
        expected = plain_probabilities(pair_classifier.model, *plain_pair(pair_classifier, pair))
        np.testing.assert_allclose(row, expected, atol=1e-6)
    pair_classifier.is_compared = False
    check_function(pair_classifier, [e.token_ids for e in encodings], [*PAIRS, PAIRS[0][0]])


def test_types_matter_to_bert(pair_classifiers):
    """Otherwise nothing here would show that they arrive."""
    classifier = pair_classifiers["bert"]
    ids, types = plain_pair(classifier, PAIRS[0])
    without, typed = (plain_probabilities(classifier.model, ids, of) for of in (None, types))
    assert np.abs(without - typed).max() > 0.01


@ONCE
@given(st.sampled_from(PAIRS), st.data())
def test_removing_and_masking_keep_types(pair_classifier, pair, data):
    (encoding,) = pair_classifier.encode([pair])
    model, (ids, types) = pair_classifier.model, plain_pair(pair_classifier, pair)
    size = len(encoding)
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    kept[0] = True
    rows, target = pair_classifier.embed(encoding.token_ids), np.array([2])
    expected = plain_probabilities(model, ids[kept], types[kept])
    (found,) = pair_classifier.probabilities([encoding.token_ids[kept]])
    np.testing.assert_allclose(found, expected, atol=1e-6)
    ((left,),) = kept_target_probabilities(pair_classifier, [rows], [kept[None]], target)
    assert left == pytest.approx(expected[2], abs=1e-6)
    masked = MaskedTexts(pair_classifier, [rows], token_ids=[encoding.token_ids])
    (found,) = masked.probabilities(np.array([0]), [kept])
    hidden = np.where(kept, ids, pair_classifier.mask_id)
    expected = plain_probabilities(model, hidden, types)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_the_longer_text_is_cut_first(pair_classifier, caplog):
    limit = pair_classifier.max_length
    long, short = ["waiter"] * (limit + 10), ["her", "mother"]
    encodings = pair_classifier.encode([(long, short), (short, long), (short, short)])
    assert [e.truncated for e in encodings] == [True, True, False]
    assert f"2 of 3 texts are longer than {limit} tokens and were cut" in caplog.text
    n_special = pair_classifier.tokenizer.num_special_tokens_to_add(pair=True)
    n_short = len(encodings[2]) - n_special  # of both
    for encoding, words, second in zip(encodings, (long, short), (short, long), strict=False):
        assert len(encoding) == limit
        of_second = encoding.word_ids >= len(words)
        n_second = int(of_second.sum())
        kept = n_second if second is short else int((~encoding.special_mask).sum()) - n_second
        assert kept == n_short / 2
        expected = pair_classifier.tokenizer(
            " ".join(words), " ".join(second), truncation="longest_first", max_length=limit
        )
        found, _ = pair_classifier.split_types(encoding.token_ids)
        assert found.tolist() == expected["input_ids"]


def test_a_tuple_of_two_is_a_pair_and_a_list_two_texts(pair_classifier):
    assert as_list(("a b", "c")) == [("a b", "c")]
    assert as_list("a b") == ["a b"]
    for texts in (["a b", "c"], ("a", "b", "c"), (["a"], ["b"])):
        assert as_list(texts) == list(texts)
    assert pair_classifier.encode([["her", "mother"]])[0].pair is None
    assert pair_classifier.encode([("her", "mother")])[0].pair == ("her", "mother")


def test_what_is_no_pair_is_refused(pair_classifier, classifiers):
    with pytest.raises(InputError, match=r"^text 1: is empty"):
        pair_classifier.encode([PAIRS[0], ("her mother", " ")])
    with pytest.raises(InputError, match=r"^missing text in row 0"):
        pair_classifier.encode([("her mother", None)])
    with pytest.raises(InputError, match=r"text 0: is a pair, and .* puts nothing between"):
        classifiers["gpt2"].encode([PAIRS[0]])
