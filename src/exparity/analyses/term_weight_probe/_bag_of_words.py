"""A bag of words with logistic regression, whose counts of some words are scaled."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from exparity.core.errors import InputError
from exparity.data.training_set import TrainingSet
from exparity.types import IntArray

Words = Sequence[str]
# Words of one letter and numbers count: "she's" is she and s, "5 priors" is 5 and priors.
_TOKEN = r"(?u)\b\w+\b"
_MOST_ITERATIONS = 20_000


class BagOfWords:
    """A multinomial logistic regression on counts of words, trained until it converges.

    Args:
        training_set: what to train on, with weights.

    Raises:
        InputError: fewer than two classes.
    """

    def __init__(self, training_set: TrainingSet) -> None:
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.linear_model import LogisticRegression

        labels = [example.label for example in training_set.examples]
        if len(set(labels)) < 2:
            raise InputError(
                f"{training_set.dataset}: the training split has one class; nothing can be learnt"
            )
        self._vectoriser = CountVectorizer(token_pattern=_TOKEN)
        counts = self._vectoriser.fit_transform(_texts(e.words for e in training_set.examples))
        self._regression = LogisticRegression(tol=1e-6, max_iter=_MOST_ITERATIONS)
        self._regression.fit(counts, labels, sample_weight=training_set.weights)

    def counts(self, texts: Iterable[Words]) -> Any:
        """Count the known words of texts: (n, v), sparse."""
        return self._vectoriser.transform(_texts(texts))

    def predict(self, counts: Any, scaled: Collection[str], weight: float) -> IntArray:
        """Predict classes from counts, some of them scaled."""
        from scipy.sparse import diags_array

        names = self._vectoriser.get_feature_names_out()
        factors = np.where(np.isin(names, list(scaled)), weight, 1.0)
        return np.asarray(self._regression.predict(counts @ diags_array(factors)), dtype=np.int64)


def group_words(
    versions: Mapping[tuple[str, str], tuple[Sequence[Words], Sequence[Words]]],
) -> dict[str, frozenset[str]]:
    """Return the words that tell groups apart: those that counterfactuals remove or bring in.

    Each is a word of the group in whose versions it is more often, as his is although it stays in
    some texts about women.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    texts = [words for pair in versions.values() for side in pair for words in side]
    vectoriser = CountVectorizer(token_pattern=_TOKEN).fit(_texts(texts))
    names = vectoriser.get_feature_names_out()
    groups = list(dict.fromkeys(group for pair in versions for group in pair))
    surplus = np.zeros((len(groups), len(names)), dtype=np.int64)
    for (group, other), (originals, counterfactuals) in versions.items():
        change = vectoriser.transform(_texts(originals)) - vectoriser.transform(
            _texts(counterfactuals)
        )
        surplus[groups.index(group)] += np.asarray(change.maximum(0).sum(axis=0)).ravel()
        surplus[groups.index(other)] += np.asarray((-change).maximum(0).sum(axis=0)).ravel()
    changed, owner = surplus.any(axis=0), surplus.argmax(axis=0)
    return {
        group: frozenset(names[changed & (owner == i)].tolist()) for i, group in enumerate(groups)
    }


def _texts(texts: Iterable[Words]) -> list[str]:
    return [" ".join(words) for words in texts]
