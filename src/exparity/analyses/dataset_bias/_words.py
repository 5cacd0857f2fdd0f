"""Bias of a dataset: what its words say of groups and classes (Wilming et al. 2024, A.1.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from exparity.core.errors import InputError, did_you_mean
from exparity.types import FloatArray, IntArray

Forms = Sequence[Sequence[str]]
"""Terms that name a group, by form: words that stand for one another, such as him and his."""


@dataclass(frozen=True)
class Cooccurrence:
    """Number of words beside the terms of a group.

    Attributes:
        n_texts: the group's texts with one of its terms.
        count: pairs of a form and a word beside it, over these texts.
        share: its part of the counts of all groups; NaN if there are none.
    """

    group: str
    n_texts: int
    count: int
    share: float


@dataclass(frozen=True)
class WordAssociation:
    """Correlation of a word with a class.

    Attributes:
        word: the word, in lower case.
        class_index: the class.
        n_texts: texts that have it.
        correlation: Pearson's, of its tf-idf value with being of the class; NaN where either is
            constant.
        rationale_share: share of its occurrences that are marked as rationale; NaN where unknown.
    """

    word: str
    class_index: int
    n_texts: int
    correlation: float
    rationale_share: float


def cooccurrence(
    texts: Sequence[Sequence[str]],
    groups: Sequence[str],
    order: Sequence[str],
    terms: Mapping[str, Forms],
) -> list[Cooccurrence]:
    r"""Count the words beside the terms of each group (Zhao et al. 2017; Cabello et al. 2023).

    In group g, :math:`C_g = \sum_S \sum_{a \in A_g} \sum_{w \in V} 1_S(a, w)`: over its texts S,
    the forms a of its terms that S has, and the words w of S that are no term of any group. A form
    counts once a text, a word as often as it stands there.

    Args:
        texts: (n,) words of each text.
        groups: (n,) each text's group.
        order: the groups.
        terms: the forms of each group.

    Returns:
        One per group; with two, a share of 0.5 is balance.

    Raises:
        InputError: terms of an unknown group, or none for a known one.
    """
    for group in (*terms, *order):
        if group not in order:
            hint = did_you_mean(group, order)
            raise InputError(f"dataset_bias.terms: no group '{group}'; {hint}")
        if not terms.get(group):
            raise InputError(f"dataset_bias.terms: no terms for group '{group}'; give some")
    forms = {g: [{word.lower() for word in form} for form in terms[g]] for g in order}
    every = {word for of_group in forms.values() for form in of_group for word in form}
    counts, with_terms = dict.fromkeys(order, 0), dict.fromkeys(order, 0)
    for text, group in zip(texts, groups, strict=True):
        words = [word.lower() for word in text]
        there = sum(not form.isdisjoint(words) for form in forms[group])
        counts[group] += there * sum(word not in every for word in words)
        with_terms[group] += there > 0
    total = sum(counts.values())
    return [
        Cooccurrence(g, with_terms[g], counts[g], counts[g] / total if total else np.nan)
        for g in order
    ]


def word_associations(
    texts: Sequence[Sequence[str]],
    labels: Sequence[int] | IntArray,
    n_classes: int,
    rationales: Sequence[Sequence[int] | None] | None = None,
) -> list[WordAssociation]:
    """Correlate the tf-idf value of each word with the classes (Wilming et al. 2024, figure 3).

    Words are lower-cased. tf-idf is scikit-learn's: smoothed, each text scaled to length 1.

    Args:
        texts: (n,) words of each text.
        labels: (n,) class index of each.
        n_classes: number of classes.
        rationales: (n,) a 0 or 1 per word of each text, or None where unknown.

    Returns:
        One per word and class, sorted by class, then by falling size of the correlation.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(analyzer=lambda words: [word.lower() for word in words])
    values = vectorizer.fit_transform(texts)  # sparse: (n, words)
    words = vectorizer.get_feature_names_out().tolist()
    members = np.asarray(labels)[:, None] == np.arange(n_classes)  # (n, classes)
    correlations = _correlations(values, members.astype(np.float64))
    n_texts = np.asarray((values > 0).sum(axis=0)).ravel()
    marked = _marked_shares(texts, rationales)
    associations = [
        WordAssociation(word, c, int(n), float(r), marked.get(word, np.nan))
        for c in range(n_classes)
        for word, n, r in zip(words, n_texts, correlations[:, c], strict=True)
    ]
    return sorted(
        associations, key=lambda a: (a.class_index, -np.nan_to_num(abs(a.correlation)), a.word)
    )


def _correlations(values: FloatArray, members: FloatArray) -> FloatArray:
    """Return Pearson's r of each column of a sparse matrix with each column of another.

    Args:
        values: (n, words) sparse.
        members: (n, classes).
    """
    n = values.shape[0]
    centred = members - members.mean(axis=0)
    covariance = np.asarray(values.T @ centred) / n  # (words, classes)
    mean = np.asarray(values.mean(axis=0)).ravel()
    squares = np.asarray(values.multiply(values).mean(axis=0)).ravel()  # type: ignore[attr-defined]
    deviation = np.sqrt(np.maximum(squares - mean**2, 0.0))
    # A word with the same value everywhere varies by rounding alone.
    deviation[deviation < 1e-12] = 0.0
    scale = deviation[:, None] * members.std(axis=0)[None, :]
    correlations = np.full(covariance.shape, np.nan)
    np.divide(covariance, scale, out=correlations, where=scale > 0)
    return np.clip(correlations, -1.0, 1.0)


def _marked_shares(
    texts: Sequence[Sequence[str]], rationales: Sequence[Sequence[int] | None] | None
) -> dict[str, float]:
    counts: dict[str, list[int]] = {}
    for text, marks in zip(texts, rationales or (), strict=rationales is not None):
        for word, mark in zip(text, marks or (), strict=marks is not None):
            count = counts.setdefault(word.lower(), [0, 0])
            count[0] += mark
            count[1] += 1
    return {word: marked / n for word, (marked, n) in counts.items()}
