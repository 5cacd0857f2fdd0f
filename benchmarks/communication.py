"""Measure what communication calls a gap, by simulation.

Usage: python benchmarks/communication.py [--runs N] [--texts N] [--only SETTING ...]

A classifier of four classes is additive: some words of a text speak for a class, others hardly, and
what the words do not say is noise. An explanation has each word's true weight for the decision and
an error. What a setting names is of the second group alone. As many texts of each group are
explained in one training, and the student learns from both. A run is *different* where p ≤ 0.05.
The columns are shares of runs in
percent, by what is compared; a skill has to differ on both ways. The last two are the skills of the
groups, on the way to the whole text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from shared import simulated_means, simulation_parser

from exparity.metrics import Messages
from exparity.metrics.communication import communication
from exparity.stats.crossed import CrossedTest, crossed_tests
from exparity.stats.skill import Scale, linearised, on_all_scales
from exparity.types import FloatArray, IntArray

ALPHA, DRAWS, SHARE = 0.05, 2, 0.2
CLASSES, TELLING, FILLERS = 4, 12, 150
WORDS = 2 * CLASSES * TELLING + FILLERS
"""Words of the vocabulary."""
WEIGHT, LEAST, ERROR = 1.5, 0.1, 0.7
ORDER = ("first", "second")


@dataclass(frozen=True)
class Group:
    """Texts of a group, what the classifier makes of them, and their explanations.

    Attributes:
        texts: share of the texts of a setting.
        n: words of a text.
        telling: words of a text that speak for its class.
        certainty: factor of all weights.
        unsaid: standard deviation of what the classifier decides by beside the words.
        error: standard deviation of the error of an explanation, over that of its words' weights.
        own_words: whether other words tell its classes.
        redundant: whether one of the telling words says as much as all of them.
    """

    texts: float = 1.0
    n: int = 15
    telling: int = 2
    certainty: float = 1.0
    unsaid: float = 0.7
    error: float = ERROR
    own_words: bool = False
    redundant: bool = False


@dataclass(frozen=True)
class Explained:
    """Texts of a group as a run has them.

    Attributes:
        words: (n, t) numbers of the words.
        decisions: (n,) class that the classifier decides for.
        weights: (n, t) of the words for the decision.
        errors: (n, t) of explanations, where their standard deviation is that of the weights.
    """

    words: IntArray
    decisions: IntArray
    weights: FloatArray
    errors: FloatArray

    def scores(self, error: float) -> FloatArray:
        """Return (n, t) attributions with an error, over the spread of the weights."""
        return np.asarray(self.weights + error * self.errors)


def explained(
    group: Group, n_texts: int, weights: FloatArray, rng: np.random.Generator
) -> Explained:
    """Draw texts of a group; ``weights`` are the (v, c) weights of all words."""
    classes = rng.integers(0, CLASSES, n_texts)
    first = CLASSES * TELLING if group.own_words else 0
    words = 2 * CLASSES * TELLING + rng.integers(0, FILLERS, (n_texts, group.n))
    own = rng.integers(0, TELLING, (n_texts, group.telling))
    words[:, : group.telling] = first + classes[:, None] * TELLING + own
    words = rng.permuted(words, axis=1)
    logits = group.certainty * _said(weights[words], words, group.redundant)
    decisions = (logits + group.unsaid * rng.normal(size=logits.shape)).argmax(axis=1)
    of_words = np.take_along_axis(weights[words], decisions[:, None, None], axis=2)[..., 0]
    true = group.certainty * (of_words - weights[words].mean(axis=2))
    errors = true.std(axis=1, keepdims=True) * rng.normal(size=true.shape)
    return Explained(words, decisions, true, errors)


def _said(parts: FloatArray, words: IntArray, redundant: bool) -> FloatArray:
    """Return (n, c) what the words of texts say for each class, given (n, t, c) parts."""
    if not redundant:
        return np.asarray(parts.sum(axis=1))
    tells = (words < 2 * CLASSES * TELLING)[..., None]
    told = np.where(tells, parts, -np.inf).max(axis=1)
    return np.asarray(told + np.where(tells, 0.0, parts).sum(axis=1))


def messages_of(texts: list[Explained], orders: list[FloatArray], share: float) -> Messages:
    """Return the words of the largest values of each text, of all groups."""
    named: list[frozenset[str]] = []
    groups: list[str] = []
    for own, values, name in zip(texts, orders, ORDER, strict=True):
        count = max(1, int(share * own.words.shape[1] + 0.5))
        places = np.argsort(-values, axis=1, kind="stable")[:, :count]
        chosen = np.take_along_axis(own.words, places, axis=1)
        named += [frozenset(map(str, row)) for row in chosen.tolist()]
        groups += [name] * len(values)
    decisions = np.concatenate([own.decisions for own in texts])
    return Messages(named, decisions, [str(i) for i in range(len(named))], groups)


class Compared(NamedTuple):
    """What one study of two groups shows.

    Attributes:
        apart: tests of the first against the second group, by what is compared.
        both: the test of skill on both ways.
        levels: skill of both groups on the way to the whole text.
    """

    apart: dict[str, CrossedTest]
    both: CrossedTest
    levels: tuple[float, float]


class Study(NamedTuple):
    """Texts of two groups, and what a reader guesses without an explanation.

    Attributes:
        texts: of both groups.
        chance: (n,) mean success by random words, of all texts.
        ceiling: (n,) success by whole texts.
    """

    texts: list[Explained]
    chance: FloatArray
    ceiling: FloatArray


def texts_of(pair: tuple[Group, Group], n_texts: int, rng: np.random.Generator) -> list[Explained]:
    """Draw the weights of all words, and texts of two groups."""
    weights = rng.normal(0, LEAST, (WORDS, CLASSES))
    for word in range(2 * CLASSES * TELLING):
        weights[word, word // TELLING % CLASSES] += WEIGHT * (1 + 0.3 * rng.uniform(-1, 1))
    return [explained(group, int(group.texts * n_texts), weights, rng) for group in pair]


def study_of(
    pair: tuple[Group, Group], n_texts: int, rng: np.random.Generator, draws: int = DRAWS
) -> Study:
    """Draw texts of two groups, and have them guessed by random words and by whole texts."""
    texts = texts_of(pair, n_texts, rng)
    drawn = []
    for _ in range(draws):
        orders = [rng.random(own.words.shape) for own in texts]
        drawn.append(communication(messages_of(texts, orders, SHARE)))
    ceiling = communication(messages_of(texts, [own.weights for own in texts], 1.0))
    return Study(texts, np.asarray(np.mean(drawn, axis=0)), ceiling)


def compared(study: Study, errors: Sequence[float]) -> Compared:
    """Compare explanations of both groups, with an error each."""
    texts, chance, ceiling = study
    scores = [own.scores(error) for own, error in zip(texts, errors, strict=True)]
    success = communication(messages_of(texts, scores, SHARE))
    excess = success - chance
    groups = [name for own, name in zip(texts, ORDER, strict=True) for _ in own.words]
    ways: dict[Scale, FloatArray] = {
        "score": linearised(excess, ceiling - chance, groups),
        "ideal": linearised(excess, 1 - chance, groups),
    }
    tests = {scale: crossed_tests([values], groups, ORDER)[0] for scale, values in ways.items()}
    both, _ = on_all_scales(tests)
    apart = {
        "success": crossed_tests([success], groups, ORDER)[0],
        "excess": crossed_tests([excess], groups, ORDER)[0],
        "to the whole text": tests["score"],
        "to certainty": tests["ideal"],
    }
    is_first = np.array(groups) == ORDER[0]
    whole = ways["score"]
    return Compared(apart, both, (float(whole[is_first].mean()), float(whole[~is_first].mean())))


def run(pair: tuple[Group, Group], n_texts: int, rng: np.random.Generator) -> dict[str, float]:
    """Return what one study of two groups shows, as a row of the table."""
    shown = compared(study_of(pair, n_texts, rng), [group.error for group in pair])
    tests = {**shown.apart, "skill": shown.both}
    percent = {name: 100.0 * (test.p_mean <= ALPHA) for name, test in tests.items()}
    first, second = shown.levels
    return {**percent, "first": first, "second": second}


PLAIN = Group()
SETTINGS = {
    "nothing": (PLAIN, PLAIN),
    "twice as sure": (PLAIN, replace(PLAIN, certainty=2.0)),
    "decides by more than words": (PLAIN, replace(PLAIN, unsaid=2.0)),
    "four telling words": (PLAIN, replace(PLAIN, telling=4)),
    "a third of the texts": (PLAIN, replace(PLAIN, texts=0.33)),
    "other words tell": (PLAIN, replace(PLAIN, own_words=True)),
    "length 10 / 20": (replace(PLAIN, n=10), replace(PLAIN, n=20)),
    "error 1.5": (PLAIN, replace(PLAIN, error=1.5)),
    "error 1.5, twice as sure": (PLAIN, replace(PLAIN, error=1.5, certainty=2.0)),
    "error 1.5, the first twice as sure": (
        replace(PLAIN, certainty=2.0),
        replace(PLAIN, error=1.5),
    ),
    "error 4": (PLAIN, replace(PLAIN, error=4.0)),
    "either of two words is enough": (PLAIN, replace(PLAIN, redundant=True)),
    "error 4, length 10 / 20": (replace(PLAIN, n=10), replace(PLAIN, n=20, error=4.0)),
}


def main() -> None:
    """Print a table of all settings."""
    options = simulation_parser(__doc__, SETTINGS, runs=200).parse_args()
    simulated_means(SETTINGS, run, options, digits=2)


if __name__ == "__main__":
    main()
