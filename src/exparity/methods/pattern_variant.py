"""Covariance of words and classes in the training split (Wilming et al. 2024)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from exparity.explanations.alignment import shared
from exparity.methods import MethodBatch, method
from exparity.methods._words import Training, words_of
from exparity.types import FloatArray


@method(
    "pattern_variant",
    signed=True,
    needs_gradient=False,
    target="none",
    baseline=None,
    stochastic=False,
    reference="Wilming et al. 2024, arXiv:2406.11547, section 2.2; Haufe et al. 2014, "
    "doi:10.1016/j.neuroimage.2013.10.067",
    display="Pattern variant",
    needs_training=True,
)
def pattern_variant(batch: MethodBatch) -> list[FloatArray]:
    r"""Covariance of each word's tf-idf value with the target class, over the training split.

    :math:`s_w = \mathrm{Cov}(\mathrm{tfidf}_w(x), [y = c])` for target class :math:`c`. The model
    is not asked: a word has the same score in every text that is explained for the same class.

    Returns:
        (t,) signed scores for each text; the tokens of a word share its covariance evenly. Words
        that are not in the training split and special tokens score 0.
    """
    assert batch.training is not None
    pattern = covariances(batch.training)
    scores = []
    for encoding, target in zip(batch.encodings, batch.targets, strict=True):
        word_scores = np.zeros(int(encoding.word_ids.max()) + 1)
        for place, word in words_of(encoding).items():
            word_scores[place] = pattern.get((word.lower(), int(target)), 0.0)
        scores.append(shared(encoding.word_ids, word_scores))
    return scores


@lru_cache(maxsize=1)  # for the texts of all batches
def covariances(training: Training) -> dict[tuple[str, int], float]:
    """Return covariances (n − 1) of words' tf-idf with classes, by word in lower case and class."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(analyzer=lambda words: [word.lower() for word in words])
    values = vectorizer.fit_transform(training.words)  # sparse: (n, words)
    members = training.labels[:, None] == np.arange(training.labels.max() + 1)  # (n, classes)
    # Of the two factors one with a mean of zero is enough, and classes are the dense one.
    products = np.asarray(values.T @ (members - members.mean(axis=0)))  # (words, classes)
    return {
        (word, target): float(value)
        for word, column in vectorizer.vocabulary_.items()
        for target, value in enumerate(products[column] / (len(training.words) - 1))
    }
