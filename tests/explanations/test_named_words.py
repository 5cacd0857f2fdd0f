"""Answers in words: which words of the text they name, and what these score."""

import numpy as np
import pytest
import tiny_models
from hypothesis import given
from hypothesis import strategies as st

from exparity.engine.encoding import encode_texts
from exparity.explanations.named_words import read_answer, word_key
from exparity.models.prompts import Prompt
from exparity.types import FRAME_WORD, Text

PROMPT = Prompt("Text: ", "\nLabel:")
TOKENIZER = tiny_models.gpt_bpe()


def encoded(text):
    (encoding,) = encode_texts(TOKENIZER, [text], 200, prompt=PROMPT)
    return encoding


def by_word(answer, text):
    """The sums of the scores of each word, and the answer as it was read."""
    encoding = encoded(text)
    scores, read = read_answer(answer, encoding)
    words = encoding.written.words
    sums = [scores[encoding.word_ids == place].sum() for place in range(len(words))]
    return dict(zip(words, sums, strict=True)), read


def test_words_score_by_their_rank_and_others_nothing():
    sums, read = by_word("warm, funny", "I loved this film , it was warm and funny")
    assert sums["warm"] == pytest.approx(1)
    assert sums["funny"] == pytest.approx(1 / 2)
    assert sum(sums.values()) == pytest.approx(1.5)
    assert (read.named, read.foreign, read.n_words) == (2, 0, 2)
    assert not read.is_unread


@pytest.mark.parametrize(
    "answer",
    [
        '"WARM", funny.',
        "1. Warm\n2. Funny",
        "warm/funny",
        "- warm\n- funny",
        "warm warm funny warm",
        "**warm** (funny)",
        "warm，funny",
        "warm;funny",
    ],
)
def test_case_marks_lists_and_repetitions_do_not_count(answer):
    text = "it was warm , and funny"
    sums, read = by_word(answer, text)
    assert sums == by_word("warm funny", text)[0]
    assert (read.named, read.foreign) == (2, 0)


def test_words_that_are_not_in_the_text_are_counted_and_take_no_rank():
    sums, read = by_word("It is the splendid, warm film", "a warm film")
    assert sums == pytest.approx({"a": 0, "warm": 1, "film": 1 / 2})
    assert (read.named, read.foreign, read.n_words) == (2, 4, 6)


@pytest.mark.parametrize("answer", ["", "   ", "\n", "...", "none of these", "😀"])
def test_an_answer_without_a_word_of_the_text_is_unread_and_scores_0(answer):
    sums, read = by_word(answer, "a warm film 😀 !")
    assert read.is_unread
    assert set(sums.values()) == {0.0}


def test_every_occurrence_of_a_word_scores():
    sums, _ = by_word("good", "good service but good , Good")
    assert sums["good"] == pytest.approx(1)  # that of the last of two of one spelling
    scores, _ = read_answer("good", encoded("good service but good , Good"))
    assert scores.sum() == pytest.approx(3)


@pytest.mark.parametrize(
    ("answer", "text", "named"),
    [
        ("kind-hearted", "a kind-hearted man", ["kind-hearted"]),
        ("kind-hearted", "a kind man", ["kind"]),
        ("it's", "it 's good", ["it", "'s"]),
        ("n't", "it is n't good", ["n't"]),
        ("3", "3 of them", ["3"]),
        ("1.", "1 of them", ["1"]),
        ("ﬁne", "a fine film", ["fine"]),
        ("don’t", "I don't", ["don't"]),
    ],
)
def test_spellings_of_words(answer, text, named):
    sums, _ = by_word(answer, text)
    assert [word for word, score in sums.items() if score] == named


def test_words_of_scripts_without_blanks_are_found_as_words_or_as_parts():
    segmented = Text.of_words(["他", "讨厌", "那本", "旧书"], separator="")
    sums, read = by_word("讨厌、旧书", segmented)
    assert sums == pytest.approx({"他": 0, "讨厌": 1, "那本": 0, "旧书": 1 / 2})
    assert (read.named, read.foreign) == (2, 0)
    encoding = encoded("他讨厌那本旧书")  # one word, as no blank parts it
    scores, read = read_answer("讨厌", encoding)
    starts, ends = encoding.offsets.T
    inside = (starts < 3) & (ends > 1) & ~encoding.special_mask
    assert 0 < inside.sum() < (~encoding.special_mask).sum()
    assert (scores > 0).tolist() == inside.tolist()
    assert scores.sum() == pytest.approx(1)
    assert read_answer("喜欢", encoding)[1].is_unread


def test_words_in_one_token_share_their_scores():
    text = Text.of_words(["我", "喜欢", "这部", "电影"], separator="")
    encoding = encoded(text)
    assert np.unique(encoding.word_ids[encoding.word_ids >= 0]).tolist() == [0]  # a single token
    scores, read = read_answer("喜欢", encoding)
    assert (scores.sum(), read.named) == (1, 1)


def test_words_that_were_cut_off_are_not_in_the_text():
    text = "the film was " + "very " * 40 + "good"
    (encoding,) = encode_texts(TOKENIZER, [text], 40, prompt=PROMPT)
    assert encoding.truncated
    assert read_answer("good", encoding)[1].is_unread
    assert read_answer("film", encoding)[1].named == 1


WORDS = st.sampled_from(["film", "warm", "it's", "naïve", "3", "kind-hearted", "😂", "我喜欢", "!"])
ANSWERS = st.text() | st.lists(WORDS | st.text(max_size=5)).map(" ".join)


@pytest.mark.property
@given(ANSWERS, st.lists(WORDS, min_size=1, max_size=8))
def test_any_answer_gives_scores_from_0_to_1_of_the_text_alone(answer, words):
    encoding = encoded(" ".join(words))
    scores, read = read_answer(answer, encoding)
    assert np.isfinite(scores).all()
    assert scores.min() >= 0
    assert scores.max() <= 1
    assert (scores[encoding.word_ids == FRAME_WORD] == 0).all()
    assert read.is_unread == (not scores.any())
    again, read_again = read_answer(f"{answer} {answer}", encoding)
    assert again.tolist() == scores.tolist()
    assert (read_again.named, read_again.foreign) == (read.named, read.foreign)


@pytest.mark.property
@given(st.permutations(["he", "was", "late", "again", "today"]), st.integers(1, 5))
def test_scores_follow_the_order_of_the_answer(order, count):
    text = "he was late again today"
    sums, read = by_word(", ".join(word.upper() for word in order[:count]), text)
    ranks = {word: 1 / rank for rank, word in enumerate(order[:count], 1)}
    assert sums == pytest.approx({word: ranks.get(word, 0) for word in text.split()})
    assert read.named == count


@given(st.text())
def test_a_key_is_its_own_key(word):
    assert word_key(word_key(word)) == word_key(word)
