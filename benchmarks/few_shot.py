"""Measure what a student whom explanations teach calls a gap, by simulation.

Usage: python benchmarks/few_shot.py [--runs N] [--texts N] [--only SETTING ...]

Texts, classifiers and explanations are those of communication.py. A student learns from a few texts
with their decisions, and from what explanations say of their words: the prior mean of a word's
weight for a class is its mean attribution in texts of that decision, times the factor under which
the means of the other texts foresee the decisions best. He then guesses the decisions of the other
texts of the same group, without explanations. Ten draws of 50 texts of each group that teach are
the trainings of the test. Skill is the gain over a student without explanations, on the way to one
who is taught by exact explanations, and to certain success. The columns are shares of runs in
percent with p ≤ 0.05, and the mean success of each student in both groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from communication import ALPHA, CLASSES, ORDER, SETTINGS, WORDS, Group, texts_of
from scipy.special import softmax
from shared import simulated_means, simulation_parser

from exparity.stats.crossed import CrossedTest, crossed_tests
from exparity.stats.skill import linearised, on_all_scales
from exparity.types import FloatArray, IntArray

DRAWS, TAUGHT, STEPS = 10, 50, 25
PENALTY = 1.0
STUDENTS = ("untaught", "taught", "exactly taught")
FACTORS = np.geomspace(0.01, 10, 13)


class Lessons(NamedTuple):
    """Texts that teach a student.

    Attributes:
        presence: (m, v) 1 where a text has a word.
        answers: (m, c) 1 for the class that is decided.
    """

    presence: FloatArray
    answers: FloatArray

    def prior(self, attributions: FloatArray) -> FloatArray:
        """Return (v, c) mean attributions of words by decision, times the best factor."""
        sums = attributions.T @ self.answers
        counts = self.presence.T @ self.answers
        logits = np.empty(self.answers.shape)
        for place, answer in enumerate(self.answers):  # none is foreseen by its own explanation
            present = self.presence[place]
            others = sums - np.outer(attributions[place], answer)
            n_others = np.maximum(counts - np.outer(present, answer), 1)
            logits[place] = present @ (others / n_others)
        losses = [
            -np.log((softmax(f * logits, axis=1) * self.answers).sum(axis=1)).sum() for f in FACTORS
        ]
        best = FACTORS[int(np.argmin(losses))]
        return np.asarray(best * sums / np.maximum(counts, 1))

    def student(self, prior: FloatArray) -> FloatArray:
        """Return (v, c) weights of a logistic regression whose penalty draws it to the prior."""
        kernel = self.presence @ self.presence.T
        offsets = self.presence @ prior
        # Steps by a bound of the curvature, which never overshoot (Böhning 1992).
        step = np.linalg.inv(kernel / 2 + PENALTY * np.eye(len(kernel)))
        change = np.zeros(self.answers.shape)
        for _ in range(STEPS):
            guesses = softmax(offsets + kernel @ change, axis=1)
            slope = guesses - self.answers + PENALTY * change
            change -= step @ slope
        return np.asarray(prior + self.presence.T @ change)


def by_word(words: IntArray, values: FloatArray) -> FloatArray:
    """Return (n, v) sums of (n, t) values by word."""
    sums = np.zeros((len(words), WORDS))
    np.add.at(sums, (np.arange(len(words))[:, None], words), values)
    return sums


def run(pair: tuple[Group, Group], n_texts: int, rng: np.random.Generator) -> dict[str, float]:
    """Return what one study of two groups shows, as a row of the table."""
    texts = texts_of(pair, n_texts, rng)
    decisions = np.concatenate([own.decisions for own in texts])
    groups = [name for own, name in zip(texts, ORDER, strict=True) for _ in own.words]
    presence = np.minimum(
        np.concatenate([by_word(own.words, np.ones(own.words.shape)) for own in texts]), 1
    )
    exact = np.concatenate([by_word(own.words, own.weights) for own in texts])
    scored = zip(texts, pair, strict=True)
    erring = np.concatenate([by_word(own.words, own.scores(g.error)) for own, g in scored])
    students = {name: np.full((DRAWS, len(groups)), np.nan) for name in STUDENTS}
    for draw, group in product(range(DRAWS), ORDER):
        order = rng.permutation(np.flatnonzero(np.array(groups) == group))
        teaching = order[:TAUGHT]
        asked = order[TAUGHT:]
        lessons = Lessons(presence[teaching], np.eye(CLASSES)[decisions[teaching]])
        priors = (np.zeros((WORDS, CLASSES)), lessons.prior(erring[teaching]))
        for name, prior in zip(STUDENTS, (*priors, lessons.prior(exact[teaching])), strict=True):
            guesses = (presence[asked] @ lessons.student(prior)).argmax(axis=1)
            students[name][draw, asked] = guesses == decisions[asked]
    return shown(students, groups)


def shown(students: dict[str, FloatArray], groups: Sequence[str]) -> dict[str, float]:
    """Return what is called a gap, given the (d, n) success of each student in each draw."""
    gain = students["taught"] - students["untaught"]
    exactly = students["exactly taught"] - students["untaught"]
    compared = {
        "success": students["taught"],
        "gain": gain,
        "to exact ones": _skill(gain, exactly, groups),
        "to certainty": _skill(gain, 1 - students["untaught"], groups),
    }
    tests = {name: _tested(values, groups) for name, values in compared.items()}
    both, _ = on_all_scales({"score": tests["to exact ones"], "ideal": tests["to certainty"]})
    percent = {
        name: 100.0 * (test.p_mean <= ALPHA) for name, test in {**tests, "both": both}.items()
    }
    levels = {
        f"{name}, {group}": float(np.nanmean(success[:, np.array(groups) == group]))
        for name, success in students.items()
        for group in ORDER
    }
    return {**percent, **levels}


def _skill(gain: FloatArray, room: FloatArray, groups: Sequence[str]) -> FloatArray:
    """Return (d, n) values whose mean in a group is its skill in each draw."""
    draws = zip(gain, room, strict=True)
    return np.array([linearised(own_gain, own_room, groups) for own_gain, own_room in draws])


def _tested(values: FloatArray, groups: Sequence[str]) -> CrossedTest:
    return crossed_tests(list(values), groups, ORDER, only="p_mean")[0]


def main() -> None:
    """Print a table of all settings."""
    options = simulation_parser(__doc__, SETTINGS, runs=60).parse_args()
    simulated_means(SETTINGS, run, options, digits=2)


if __name__ == "__main__":
    main()
