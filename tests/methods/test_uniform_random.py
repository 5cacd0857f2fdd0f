"""The null model: uniform, by word, and indifferent to model and target."""

import numpy as np
import pytest
from scipy.stats import kstest

from exparity.methods import attribute
from exparity.types import Origin

TEXT = "His mother thanked the waiter near the harbour ."


def drawn(classifier, n, seed=0, **params):
    """(n, t) scores of one text under n keys."""
    encodings = classifier.encode([TEXT]) * n
    origins = [Origin("uniform_random", params, seed, f"text {i}") for i in range(n)]
    found = attribute(classifier, encodings, np.zeros(n, dtype=np.int64), origins)
    return encodings[0], np.stack(found)


def test_words_are_uniform_and_independent(classifiers):
    encoding, scores = drawn(classifiers["bert"], 400)
    assert (np.bincount(encoding.word_ids[1:-1]) > 1).any()
    words = np.stack([scores[:, encoding.word_ids == w].sum(1) for w in range(9)], axis=1)
    assert words.min() >= 0
    assert words.max() < 1
    assert kstest(words.ravel(), "uniform").pvalue > 1e-3
    correlation = np.corrcoef(words.T)
    assert np.abs(correlation[~np.eye(9, dtype=bool)]).max() < 4 / np.sqrt(400)


def test_tokens_are_uniform_if_asked_for(classifiers):
    encoding, scores = drawn(classifiers["bert"], 200, unit="token")
    assert kstest(scores.ravel(), "uniform").pvalue > 1e-3
    word = np.flatnonzero(np.bincount(encoding.word_ids[1:-1]) > 1)[0]
    first, second = scores[:, encoding.word_ids == word].T[:2]
    assert (first != second).all()


@pytest.mark.parametrize("per", ["word", "token"])
def test_seed_and_key_decide_and_nothing_else(classifiers, per):
    bert, roberta = classifiers["bert"], classifiers["roberta"]
    _, one = drawn(bert, 3, unit=per)
    assert (drawn(bert, 3, unit=per)[1] == one).all()
    assert (drawn(bert, 3, seed=1, unit=per)[1] != one).all()
    assert (one[0] != one[1]).all()
    # The same draws of another model, as far as tokens go alike.
    _, other = drawn(roberta, 3, unit=per)
    assert (other[:, 0] == one[:, 0]).all()
