"""Communication: whether the words that an explanation names tell a reader what was decided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from exparity.metrics import Messages, metric
from exparity.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_FOLDS = 5
_INVERSE_PENALTY = 10.0
_TOLERANCE = 1e-6
"""Largest gradient at the end: guesses agree to 1e-4, the same on every processor."""
_MOST_STEPS = 1000
_MOST_CELLS = 1_000_000
"""Texts times words up to which a student learns from a dense array, in half the time."""


@metric(
    "communication",
    direction="higher",
    bounds=(0.0, 1.0),
    unit="share",
    kind="communication",
    needs="messages",
    stochastic=False,
    reference="Treviso and Martins 2020, arXiv:2004.13876; Pruthi et al. 2022, arXiv:2012.00893",
    display="Communication",
    skill="ratios",
)
def communication(
    messages: Messages, *, score: Literal["success", "probability"] = "success"
) -> FloatArray:
    """Whether a student who reads nothing but the words that are named guesses the decision.

    The message of an explanation is its words of the largest sums of signed attributions, as a set.
    The student, a logistic regression on the presence of words (L2, C = 10), learns from the other
    texts that are scored with it, and never from one of the same matched set: its twin would give
    the answer. Groups count alike in what it learns.

    Args:
        messages: of all texts that are scored together.
        score: ``success``, 1 where the student is right, or the ``probability`` that it gives to
            the decision.

    Returns:
        (n,) in [0, 1], higher is better; NaN where a single matched set is scored, an attribution
        is not finite, or another class than the predicted one is explained.
    """
    folds = folds_of(messages.sets, messages.decisions)
    values = np.full(len(folds), np.nan)
    if folds.max(initial=0) < 1:
        return values
    weights = weights_of(messages.groups)
    lessons = Lessons(presence_of(messages.words), messages.decisions, weights)
    for fold in range(int(folds.max()) + 1):
        held_out = folds == fold
        probabilities = lessons.guesses(held_out)
        decided = messages.decisions[held_out]
        if score == "success":
            values[held_out] = probabilities.argmax(axis=1) == decided
        else:
            values[held_out] = probabilities[np.arange(len(decided)), decided]
    return values


def folds_of(sets: Sequence[str], decisions: IntArray) -> IntArray:
    """Return the (n,) fold of each text: sets are dealt out, those of the same decisions in turn.

    There are five folds, or one a set if there are fewer sets.
    """
    decisions_by_set: dict[str, list[int]] = {}
    for name, decision in zip(sets, decisions.tolist(), strict=True):
        decisions_by_set.setdefault(name, []).append(decision)
    dealt = sorted(decisions_by_set, key=lambda name: (sorted(decisions_by_set[name]), name))
    fold_of = {name: place % _FOLDS for place, name in enumerate(dealt)}
    return np.array([fold_of[name] for name in sets], dtype=np.int64)


def weights_of(groups: Sequence[str]) -> FloatArray:
    """Return (n,) weights that sum to n, and to the same in each group."""
    _, owners, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    return np.asarray(len(groups) / len(sizes) / sizes[owners], dtype=np.float64)


def presence_of(words: Sequence[frozenset[str]]) -> FloatArray | csr_array:
    """Return (n, v) 1 where a message has a word; sparse where that takes less memory and time."""
    from scipy.sparse import csr_array
    from sklearn.preprocessing import MultiLabelBinarizer

    presence = csr_array(
        MultiLabelBinarizer(sparse_output=True).fit_transform(words), dtype=np.float64
    )
    cells = presence.shape[0] * presence.shape[1]
    return np.asarray(presence.toarray()) if cells <= _MOST_CELLS else presence


class Lessons(NamedTuple):
    """Data that a student learns from.

    Attributes:
        presence: (n, v) 1 where a message has a word.
        decisions: (n,) class of each text, to be guessed.
        weights: (n,) weight of each text.
    """

    presence: FloatArray | csr_array
    decisions: IntArray
    weights: FloatArray

    def guesses(self, held_out: BoolArray) -> FloatArray:
        """Return (m, c) probabilities of the m held-out texts by a student of the others."""
        from sklearn.linear_model import LogisticRegression

        taught = ~held_out
        classes = np.unique(self.decisions[taught])
        guesses = np.zeros((int(held_out.sum()), int(self.decisions.max()) + 1))
        if len(classes) == 1:
            guesses[:, classes] = 1.0
            return guesses
        student = LogisticRegression(C=_INVERSE_PENALTY, tol=_TOLERANCE, max_iter=_MOST_STEPS)
        student.fit(self.presence[taught], self.decisions[taught], self.weights[taught])
        guesses[:, classes] = student.predict_proba(self.presence[held_out])
        return guesses
