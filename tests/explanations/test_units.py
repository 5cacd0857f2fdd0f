"""Units of a text: how words make sentences and spans, and what sums over tokens keep."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exparity import Explanation, InputError
from exparity.explanations.units import pieces_by_group, sentences, units_of
from exparity.types import SPECIAL_WORD, Encoding, Text


def parts(string):
    """The sentences of a text, as strings of words."""
    text = Text.of(string)
    numbers = sentences(text).tolist()
    assert numbers == sorted(numbers)
    return [
        " ".join(word for word, own in zip(text.words, numbers, strict=True) if own == number)
        for number in dict.fromkeys(numbers)
    ]


@pytest.mark.parametrize(
    "sentences",
    [
        ["One sentence without an end"],
        ["She sings.", "He dances!", "Who knows?", "Nobody …"],
        ["the film is great .", "it is fun .", "see it !"],
        ["it moved me. ", "i wept."],
        ["Mrs. Smith met Dr. J. Brown.", "He left."],
        ["They paid approx. ten pounds, e.g. in May.", "Then they left."],
        ['"Go home," she said.', '"Now!"', "He went."],
        ["Wait . . .", "What ?! '' )", "He went ."],
        ["He sings .", "she dances ."],
        ["彼は歌う。", "彼女は踊る。"],
    ],
)
def test_sentences_end_with_marks(sentences):
    assert parts(" ".join(sentences)) == [sentence.strip() for sentence in sentences]


def test_an_empty_line_ends_a_sentence_and_a_line_break_does_not():
    assert parts("A title\n\nthe text\ngoes on") == ["A title", "the text goes on"]


def naive(word_ids, special, numbers):
    """Members of each unit, in the order of their first tokens."""
    members = {}
    for place, (word, out) in enumerate(zip(word_ids, special, strict=True)):
        key = ("alone", place) if out or word < 0 else ("unit", numbers[word])
        members.setdefault(key, []).append(place)
    return list(members.values())


@pytest.mark.property
@given(st.data())
def test_units_equal_a_loop_and_keep_sums(data):
    n_words = data.draw(st.integers(1, 6))
    pieces = data.draw(st.lists(st.integers(0, 3), min_size=n_words, max_size=n_words))
    ids = [SPECIAL_WORD, *(w for w, n in enumerate(pieces) for _ in range(n)), SPECIAL_WORD]
    text = Text.of(" ".join(data.draw(st.sampled_from(["a", "b.", "C"])) for _ in pieces))
    text = Text(text.string, text.spans, tuple(np.arange(n_words) // 2))
    word_ids = np.array(ids, dtype=np.int64)
    special = word_ids < 0
    numbers = {
        "token": range(n_words), "word": range(n_words), "sentence": sentences(text),
        "spans": text.units,
    }  # fmt: skip
    scores = np.array(data.draw(st.lists(st.integers(-9, 9), min_size=len(ids), max_size=len(ids))))
    for unit, of_word in numbers.items():
        units = units_of(word_ids, special, text, unit)
        expected = naive(ids, special, of_word)
        if unit == "token":
            expected = [[place] for place in range(len(ids))]
        assert [
            np.flatnonzero(units.unit_of_token == u).tolist() for u in range(len(units))
        ] == expected
        assert units.first.tolist() == [own[0] for own in expected]
        sums = units.summed(scores.astype(float))
        assert sums.tolist() == [sum(scores[own]) for own in expected]
        assert units.summed(units.shared(sums)) == pytest.approx(sums)
        shared = units.shared(sums)
        for own in expected:
            assert len(set(shared[own])) == 1
        masks = sums[None] > 0
        assert (units.on_tokens(masks) == (units.on_tokens(sums) > 0)).all()


def test_words_of_a_pair_are_numbered_on():
    pair = Text.of("One. Two."), Text.of("Three. Four")
    word_ids = np.array([-1, 0, 0, 1, -1, 2, 3, -1])
    units = units_of(word_ids, word_ids < 0, pair, "sentence")
    assert units.unit_of_token.tolist() == [0, 1, 1, 2, 3, 4, 5, 6]
    first = Text(pair[0].string, pair[0].spans, (0, 0))
    units = units_of(word_ids, word_ids < 0, (first, pair[1]), "spans")
    assert units.unit_of_token.tolist() == [0, 1, 1, 1, 2, 3, 4, 5]


def test_units_that_a_text_lacks_are_refused():
    one = Explanation("a b", 0, tokens=["x", "y", "z"], scores=[1, 2, 3], word_ids=[0, 1, 2])
    assert len(one.units("word")) == 3
    with pytest.raises(InputError, match="sentence: tokens of 3 words, and a text of 2; give"):
        one.units("sentence")
    with pytest.raises(InputError, match="unit: spans: a text has none; name their column as"):
        one.units("spans")


def test_pieces_of_words_are_counted_by_group():
    def encoded(*word_ids):
        ids = np.array(word_ids)
        return Encoding("x", ids, ("t",) * len(ids), ids, ids < 0)

    whole, cut = encoded(-1, 0, 1, 2, -1), encoded(-1, 0, 0, 0, 1, -1)
    assert pieces_by_group([whole, cut, whole], ["f", "m", "m"]) == {"f": 1.0, "m": 7 / 5}
    assert pieces_by_group([cut, whole, cut, whole], ["f", "f", "m", "m"]) == {}
