"""Texts whose words are one token each."""

import numpy as np


def of_one_piece(classifier, sentences, n_texts=4, n_words=7):
    """Texts of words of some sentences that the tokenizer leaves whole."""
    words = sorted({word for sentence in sentences for word in sentence.split()})
    encodings = classifier.encode(words)
    whole = [w for w, e in zip(words, encodings, strict=True) if (~e.special_mask).sum() == 1]
    assert len(whole) > n_words
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(whole, n_words, replace=False)) for _ in range(n_texts)]
