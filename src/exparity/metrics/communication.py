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
_SMALLEST_FALL = 64 * float(np.finfo(np.float64).eps)
"""Relative fall of the loss in a step, below which it ends."""


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


def presence_of(words: Sequence[frozenset[str]]) -> csr_array:
    """Return (n, v) 1 where a message has a word."""
    from scipy.sparse import csr_array

    vocabulary = {word: place for place, word in enumerate(sorted(frozenset().union(*words)))}
    rows = np.repeat(np.arange(len(words)), [len(message) for message in words])
    columns = [vocabulary[word] for message in words for word in message]
    shape = len(words), len(vocabulary)
    return csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)


class Lessons(NamedTuple):
    """Data that a student learns from.

    Attributes:
        presence: (n, v) 1 where a message has a word.
        decisions: (n,) class of each text, to be guessed.
        weights: (n,) weight of each text.
    """

    presence: csr_array
    decisions: IntArray
    weights: FloatArray

    def guesses(self, held_out: BoolArray) -> FloatArray:
        """Return (m, c) probabilities of the m held-out texts by a student of the others."""
        taught = ~held_out
        classes, places = np.unique(self.decisions[taught], return_inverse=True)
        guesses = np.zeros((int(held_out.sum()), int(self.decisions.max()) + 1))
        if len(classes) == 1:
            guesses[:, classes] = 1.0
            return guesses
        weights = _learned(self.presence[taught], places, self.weights[taught], len(classes))
        guesses[:, classes] = _softmax(self.presence[held_out], weights)
        return guesses


def _learned(
    presence: csr_array, places: IntArray, weights: FloatArray, n_classes: int
) -> FloatArray:
    """Return (v + 1, c) weights of words, and a constant, of a logistic regression.

    Of two classes the first has none. The objective, where the search starts and when it ends are
    scikit-learn's, whose checks of each step take longer than the step with so few words.
    """
    from scipy.optimize import minimize

    shares = weights / weights.sum()
    penalty = 1 / (_INVERSE_PENALTY * weights.sum())
    target_shares = shares[:, None] * np.eye(n_classes)[places]
    by_word = presence.T.tocsr()
    first = int(n_classes == 2)
    form = presence.shape[1] + 1, n_classes - first

    def loss_and_gradient(values: FloatArray) -> tuple[float, FloatArray]:
        free = values.reshape(form)
        # A row a class: numpy compares and adds up few long rows faster than many short ones.
        logits = np.zeros((n_classes, len(places)))
        logits[first:] = (presence @ free[:-1] + free[-1]).T
        logits -= logits.max(axis=0)
        odds = np.exp(logits)
        sums = odds.sum(axis=0)
        target_logits = np.multiply(target_shares, logits.T, order="C")
        loss = float((shares * np.log(sums)).sum() - target_logits.sum())
        errors = np.subtract((odds * (shares / sums)).T, target_shares, order="C")[:, first:]
        gradient = np.empty(form)
        gradient[:-1] = by_word @ errors + penalty * free[:-1]
        gradient[-1] = errors.sum(axis=0)
        return loss + penalty / 2 * float((free[:-1] ** 2).sum()), gradient.ravel()

    limits = {"maxiter": _MOST_STEPS, "maxls": 50, "gtol": _TOLERANCE, "ftol": _SMALLEST_FALL}
    start = np.zeros(form[0] * form[1])
    minimum = minimize(loss_and_gradient, start, jac=True, method="L-BFGS-B", options=limits)
    learned = np.zeros((form[0], n_classes))
    learned[:, first:] = minimum.x.reshape(form)
    return learned


def _softmax(presence: csr_array, weights: FloatArray) -> FloatArray:
    """Return (n, c) probabilities of the classes by what messages have."""
    logits = presence @ weights[:-1] + weights[-1]
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))
