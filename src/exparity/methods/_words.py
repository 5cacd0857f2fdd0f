"""From tokens to words and back, for methods that score words."""

from __future__ import annotations

import numpy as np

from exparity.interface import SPECIAL_WORD, Encoding, FloatArray


def words_of(encoding: Encoding) -> dict[int, str]:
    """Return the words of a text that have tokens, by index, in order.

    A word is what lies between the blanks around its tokens, so that one that was cut off within
    is whole again.
    """
    assert encoding.offsets is not None
    text, text_of_word = encoding.text, {}
    for word in np.unique(encoding.word_ids[encoding.word_ids != SPECIAL_WORD]):
        spans = encoding.offsets[encoding.word_ids == word]
        start, end = int(spans[:, 0].min()), int(spans[:, 1].max())
        while start < end - 1 and text[start].isspace():  # some tokenizers count the blank before
            start += 1
        before, after = text.rfind(" ", 0, start) + 1, text.find(" ", end)
        text_of_word[int(word)] = text[before : after if after >= 0 else None]
    return text_of_word


def spread(encoding: Encoding, scores: dict[int, float]) -> FloatArray:
    """Share each word's score evenly among its tokens, so that they sum to it.

    Args:
        encoding: the text.
        scores: score by word index; 0 for words that are not in it.

    Returns:
        (t,) scores; 0 for special tokens.
    """
    counts = np.bincount(encoding.word_ids[encoding.word_ids != SPECIAL_WORD])
    shares = [scores.get(int(w), 0.0) / counts[w] if w >= 0 else 0.0 for w in encoding.word_ids]
    return np.array(shares, dtype=np.float64)
