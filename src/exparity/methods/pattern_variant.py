"""Covariance of words and classes in the training split (Wilming et al. 2024)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exparity.interface import FloatArray
from exparity.methods import MethodBatch, method
from exparity.methods._training import Training
from exparity.methods._words import spread, words_of


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

    Args:
        batch: the texts.

    Returns:
        (t,) signed scores for each text; the tokens of a word share its covariance evenly. Words
        that are not in the training split and special tokens score 0.
    """
    assert batch.training is not None
    pattern = _pattern_of(batch.training)
    scores = []
    for encoding, target in zip(batch.encodings, batch.targets, strict=True):
        words = words_of(encoding).items()
        scores.append(spread(encoding, {i: pattern.score(word, int(target)) for i, word in words}))
    return scores


@dataclass(frozen=True)
class Pattern:
    """Covariance of words with classes.

    Attributes:
        columns: column of each word, in lower case.
        values: (classes, words) covariance.
    """

    columns: dict[str, int]
    values: FloatArray

    def score(self, word: str, target: int) -> float:
        """Return a word's covariance with a class; 0 if the training split lacks either."""
        column = self.columns.get(word.lower())
        if column is None or target >= len(self.values):
            return 0.0
        return float(self.values[target, column])


def _pattern_of(training: Training) -> Pattern:
    if "pattern" not in training.memo:
        training.memo["pattern"] = covariances(training)
    pattern: Pattern = training.memo["pattern"]
    return pattern


def covariances(training: Training) -> Pattern:
    """Return the covariance (with n − 1) of every word's tf-idf value with every class."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(analyzer=lambda words: [word.lower() for word in words])
    values = vectorizer.fit_transform(training.words)  # sparse: (n, words)
    members = training.labels[:, None] == np.arange(training.labels.max() + 1)  # (n, classes)
    # Of the two factors one with a mean of zero is enough, and classes are the dense one.
    centred = members - members.mean(axis=0)
    covariances = np.asarray((values.T @ centred).T) / (len(training.words) - 1)
    return Pattern(vectorizer.vocabulary_, covariances)
