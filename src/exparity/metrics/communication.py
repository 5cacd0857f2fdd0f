"""Communication: whether the words that an explanation names tell a reader what was decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from exparity.core.grouping import grouped
from exparity.metrics import Messages, metric
from exparity.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_FOLDS = 5
_INVERSE_PENALTY = 10.0
_TOLERANCE = 1e-7
"""Largest slope at the end: guesses agree to 1e-5, the same on every processor."""
_MOST_STEPS = 1000
_MEMORY = 5  # steps that tell the curvature; the coordinates tell most of it
_STEEPNESS = 0.03
"""About the variance of a guess, which is the curvature of the loss in the weight of a word."""
_MOST_COMMON = 512
"""Words that are searched together; a matrix of them is inverted."""
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
    if folds.max(initial=0) < 1:
        return np.full(len(folds), np.nan)
    decisions = messages.decisions
    presence = presence_of(messages.words)
    guesses = Lessons(presence, decisions, weights_of(messages.groups), folds).guesses()
    if score == "success":
        return np.asarray(guesses.argmax(axis=1) == decisions, dtype=np.float64)
    return np.asarray(guesses[np.arange(len(decisions)), decisions])


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
    """Return (n, v) 1 where a message has a word, from the rarest word to the most common one."""
    from scipy.sparse import csr_array

    counts = Counter(word for message in words for word in message)
    by_count = sorted(counts, key=lambda word: (counts[word], word))
    vocabulary = {word: place for place, word in enumerate(by_count)}
    rows = np.repeat(np.arange(len(words)), [len(message) for message in words])
    columns = [vocabulary[word] for message in words for word in message]
    shape = len(words), len(vocabulary)
    return csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)


class Lessons(NamedTuple):
    """Texts that students learn from: of each fold, one who reads the other folds.

    Attributes:
        presence: (n, v) 1 where a message has a word, words in the order of :func:`presence_of`.
        decisions: (n,) class of each text, to be guessed.
        weights: (n,) weight of each text.
        folds: (n,) fold of each text.
    """

    presence: csr_array
    decisions: IntArray
    weights: FloatArray
    folds: IntArray

    def guesses(self) -> FloatArray:
        """Return (n, c) probabilities of the classes of each text, by the student of its fold."""
        n_folds = int(self.folds.max()) + 1
        taught = self.folds != np.arange(n_folds)[:, None]
        classes_taught = [tuple(np.unique(self.decisions[texts]).tolist()) for texts in taught]
        guesses = np.zeros((len(self.folds), int(self.decisions.max()) + 1))
        for classes, folds in grouped(range(n_folds), classes_taught.__getitem__).items():
            places = np.flatnonzero(np.isin(self.folds, folds))
            if len(classes) == 1:
                guesses[places, classes[0]] = 1.0
                continue
            is_decided = self.decisions == np.array(classes)[:, None]
            logits = _learned(self.presence, is_decided, self.weights * taught[folds])
            students = np.searchsorted(folds, self.folds[places])
            odds = np.exp(logits[:, students, places])
            guesses[np.ix_(places, classes)] = (odds / odds.sum(axis=0)).T
        return guesses


class _Coordinates(NamedTuple):
    """Numbers that weights of words are made of, in which no direction of the loss is much steeper.

    A search takes half of the steps in them. The constant is the most common word.

    Attributes:
        rare: (r, 1) factors of words, each of which is a coordinate.
        common: (m, m) triangular matrix from coordinates to weights of words that go together.
    """

    rare: FloatArray
    common: FloatArray

    @classmethod
    def of(cls, presence: csr_array, shares: FloatArray, penalty: float) -> _Coordinates:
        """Return those of (n, v) words, the common ones last, in texts of (n,) shares."""
        from scipy.linalg import solve_triangular

        n_rare = max(presence.shape[1] - _MOST_COMMON, 0)
        steepness = _STEEPNESS * (presence[:, :n_rare].T @ shares) + penalty
        dense = np.ones((len(shares), presence.shape[1] - n_rare + 1))
        dense[:, :-1] = presence[:, n_rare:].toarray()
        together = _STEEPNESS * (dense.T * shares) @ dense
        places = np.arange(len(together) - 1)
        together[places, places] += penalty
        root = np.linalg.cholesky(together)
        inverse = solve_triangular(root, np.eye(len(root)), lower=True)
        return cls(1 / np.sqrt(steepness)[:, None], np.ascontiguousarray(inverse.T))

    def weights(self, values: FloatArray) -> FloatArray:
        """Return the (v + 1, k) weights that coordinates stand for."""
        n_rare = len(self.rare)
        return np.concatenate([self.rare * values[:n_rare], self.common @ values[n_rare:]])

    def slopes(self, by_weight: FloatArray) -> FloatArray:
        """Return the (v + 1, k) slopes by coordinates, from those by weights."""
        n_rare = len(self.rare)
        common = self.common.T @ by_weight[n_rare:]
        return np.concatenate([self.rare * by_weight[:n_rare], common])


def _learned(presence: csr_array, is_decided: BoolArray, weights: FloatArray) -> FloatArray:
    """Return (c, k, n) logits of the classes of texts, by students of (k, n) weights of texts.

    Each student is a logistic regression with scikit-learn's objective; of two classes the first
    has no weights. One search finds all of them: a step of one alone takes hardly less time.
    """
    from scipy.optimize import minimize

    sums_of_weights = weights.sum(axis=1)
    shares = weights / sums_of_weights[:, None]
    target_shares = is_decided[:, None] * shares
    first = int(len(is_decided) == 2)
    penalties = np.tile(1 / (_INVERSE_PENALTY * sums_of_weights), len(is_decided) - first)
    coordinates = _Coordinates.of(presence, shares.mean(axis=0), float(penalties.mean()))
    by_word = presence.T.tocsr()
    form = presence.shape[1] + 1, len(penalties)

    def logits_of(free: FloatArray) -> FloatArray:
        # A row a class and student: numpy adds up few long rows faster than many short ones.
        logits = np.zeros(target_shares.shape)
        rows = logits[first:].reshape(len(penalties), -1)
        np.add((presence @ free[:-1]).T, free[-1][:, None], out=rows)
        logits -= logits.max(axis=0)
        return logits

    def loss_and_gradient(values: FloatArray) -> tuple[float, FloatArray]:
        free = coordinates.weights(values.reshape(form))
        logits = logits_of(free)
        odds = np.exp(logits)
        sums = odds.sum(axis=0)
        loss = np.vdot(shares, np.log(sums)) - np.vdot(target_shares, logits)
        odds *= shares / sums
        odds -= target_shares
        errors = np.ascontiguousarray(odds[first:].reshape(len(penalties), -1).T)
        penalised = penalties * free[:-1]
        slopes = np.empty(form)
        np.add(by_word @ errors, penalised, out=slopes[:-1])
        slopes[-1] = errors.sum(axis=0)
        loss += np.vdot(penalised, free[:-1]) / 2
        return float(loss), coordinates.slopes(slopes).ravel()

    limits = {
        "maxiter": _MOST_STEPS,
        "maxls": 50,
        "maxcor": _MEMORY,
        "gtol": _TOLERANCE,
        "ftol": _SMALLEST_FALL,
    }
    start = np.zeros(form[0] * form[1])
    minimum = minimize(loss_and_gradient, start, jac=True, method="L-BFGS-B", options=limits)
    return logits_of(coordinates.weights(minimum.x.reshape(form)))
