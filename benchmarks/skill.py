"""Measure what skill and the quantities beside it call a gap, by simulation.

Usage: python benchmarks/skill.py [--runs N]

Classifiers are closed forms: the log odds of a text are a sum over its words. An explanation has
each word's weight and an error of standard deviation 0.7. Two groups of 100 texts are explained in
five trainings each; what a setting names is the second group's, and d is of the first minus the
second. A run is *different* where p ≤ 0.05. The second table is of skill on one scale where there
is no gap, by how much room texts have.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit, logit
from scipy.stats import rankdata

from exparity.stats.crossed import crossed_tests
from exparity.stats.skill import SCALES, Scale, linearised, on_all_scales
from exparity.types import FloatArray, IntArray

TRAININGS, TEXTS, DRAWS, ERROR = 5, 100, 20, 0.7
ORDER = ("first", "second")
ALPHA = 0.05
QUANTITIES = ("score", "excess", *SCALES, "skill")


@dataclass(frozen=True)
class Group:
    """Texts of a group, their classifier and their explanations.

    Attributes:
        n: words of a text.
        words: how many of them count.
        weight: mean weight of each of these.
        changed: probability as a function of log odds.
        noise: share of a permuted copy in the explanations.
        pair: whether two words say the class together, whether both are there or both are gone.
    """

    n: int = 16
    words: int = 3
    weight: float = 1.5
    changed: Callable[[FloatArray], FloatArray] = expit
    noise: float = 0.0
    pair: bool = False


def halved(odds: FloatArray) -> FloatArray:
    """Return 1/4 + p/2."""
    return np.asarray(0.25 + expit(odds) / 2)


def warm(odds: FloatArray) -> FloatArray:
    """Return p at a temperature of 2."""
    return np.asarray(expit(odds / 2))


def raised(odds: FloatArray) -> FloatArray:
    """Return p where the empty text has a higher one."""
    return np.asarray(expit(odds + 2))


PLAIN = Group()
SETTINGS: dict[str, tuple[Group, Group]] = {
    "nothing": (PLAIN, PLAIN),
    "temperature 2": (PLAIN, Group(changed=warm)),
    "1/4 + p/2": (PLAIN, Group(changed=halved)),
    "p(∅) higher": (PLAIN, Group(changed=raised)),
    "n 12 / 24": (Group(n=12), Group(n=24)),
    "2 / 5 words of the same weight": (Group(words=2), Group(words=5)),
    "noise 0.3": (PLAIN, Group(noise=0.3)),
    "noise 0.5": (PLAIN, Group(noise=0.5)),
    "1/4 + p/2, noise 0.3": (PLAIN, Group(changed=halved, noise=0.3)),
    "temperature 2, noise 0.3 in the first": (Group(noise=0.3), Group(changed=warm)),
    "a pair of words": (PLAIN, Group(pair=True)),
}


def orders_of(scores: FloatArray) -> IntArray:
    """Return token orders, the highest of the last axis first."""
    return np.argsort(-scores, axis=-1, kind="stable")


def falls_of(group: Group, weights: FloatArray, orders: IntArray) -> dict[str, FloatArray]:
    """Return falls (t, o, k) at tenths of (t, n) texts as (t, o, n) orders take their words."""
    n = group.n
    sizes = np.unique([max(1, int(tenth * n / 10 + 1e-9)) for tenth in range(1, 11)])
    taken = np.take_along_axis(weights[:, None, :], orders, axis=-1)
    left = weights.sum(-1)[:, None, None] - taken.cumsum(-1)[..., sizes - 1]
    whole = weights.sum(-1)[:, None, None]
    if group.pair:
        gone = np.argsort(orders, axis=-1)[..., :2, None] < sizes  # (t, o, 2, k) of both words
        sign = np.where(gone[..., 0, :] == gone[..., 1, :], 2.0, -2.0)
        left, whole = left + sign, whole + 2.0
    # Rounded, since sets of the same words are a tie in whatever order they were added up.
    low, high = (group.changed(np.round(odds - 1.0, 9)) for odds in (left, whole))
    return {"probability": high - low, "log_odds": logit(high) - logit(low)}


class Texts(NamedTuple):
    """(t, n) weights of words, explanations, scores of the best order, and (t, r, n) orders."""

    weights: FloatArray
    shown: FloatArray
    best: FloatArray
    random: IntArray


def drawn(group: Group, size: int, rng: np.random.Generator) -> Texts:
    """Draw texts of a group, their explanations and random orders."""
    weights = rng.normal(0.0, 0.1, (size, group.n))
    weights[:, : group.words] += group.weight * rng.uniform(0.5, 1.5, (size, group.words))
    shown = weights + rng.normal(0.0, ERROR, weights.shape)
    if group.pair:  # which explanations of single words do not see
        weights[:, :2] = 0.0
    shown = (1 - group.noise) * shown + group.noise * rng.permuted(shown, axis=-1)
    best = weights.copy()
    if group.pair:  # one word alone turns the pair, so that the other one comes last
        best[:, 0], best[:, 1] = np.inf, -np.inf
    return Texts(weights, shown, best, orders_of(rng.random((size, DRAWS, group.n))))


def measured(group: Group, texts: Texts) -> dict[Scale, tuple[FloatArray, ...]]:
    """Return (t,) score, gain and room of texts by scale."""
    random = falls_of(group, texts.weights, texts.random)
    own, reference = (
        falls_of(group, texts.weights, orders_of(scores[:, None, :]))
        for scores in (texts.shown, texts.best)
    )
    pool = random["log_odds"].reshape(len(texts.weights), -1)

    def shares(falls: FloatArray) -> FloatArray:
        below = (pool[:, None, :] < falls[..., None]).mean(-1)
        return np.asarray(below + (pool[:, None, :] == falls[..., None]).mean(-1) / 2)

    found: dict[Scale, tuple[FloatArray, ...]] = {}
    for scale in SCALES:
        if scale == "ranks":
            ranks = (rankdata(pool, axis=-1) - 0.5) / pool.shape[1]
            chance = ranks.mean(-1)
            score, best = (shares(one["log_odds"][:, 0]).mean(-1) for one in (own, reference))
        else:
            chance = random[scale].mean((1, 2))
            score, best = (one[scale].mean((1, 2)) for one in (own, reference))
        found[scale] = score, score - chance, best - chance
    return found


def run(groups: tuple[Group, Group], rng: np.random.Generator) -> dict[str, tuple[float, float]]:
    """Return d and p of each quantity in one run."""
    both = [measured(group, drawn(group, TRAININGS * TEXTS, rng)) for group in groups]
    names = [ORDER[0]] * TEXTS + [ORDER[1]] * TEXTS

    def together(part: int, scale: Scale) -> FloatArray:
        each = [of_group[scale][part].reshape(TRAININGS, TEXTS) for of_group in both]
        return np.concatenate(each, axis=1)

    values = {"score": together(0, "probability"), "excess": together(1, "probability")}
    for scale in SCALES:
        rows = zip(together(1, scale), together(2, scale), strict=True)
        values[scale] = np.array([linearised(gain, room, names) for gain, room in rows])
    tests = {
        name: crossed_tests(list(rows), names, ORDER, alpha=ALPHA)[0]
        for name, rows in values.items()
    }
    on_all, _ = on_all_scales({scale: tests[scale] for scale in SCALES})
    return {name: (test.d, test.p_mean) for name, test in {**tests, "skill": on_all}.items()}


def settings(runs: int) -> Iterator[dict[str, str]]:
    """Yield mean d of every quantity in every setting, and the percentage of runs that differ."""
    for number, (name, groups) in enumerate(SETTINGS.items()):
        rng = np.random.default_rng([0, number])
        found = [run(groups, rng) for _ in range(runs)]
        row = {"setting": name}
        for quantity in QUANTITIES:
            d, p = np.array([one[quantity] for one in found]).T
            row[quantity] = f"{d.mean():.2f}, {100 * (p <= ALPHA).mean():.0f}"
        yield row


ROOMS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], FloatArray]] = {
    "equal": lambda rng, size: rng.uniform(0.2, 0.6, size),
    "halved in one group": lambda rng, size: rng.uniform(0.1, 0.3, size),
    "often near 0 in one group": lambda rng, size: rng.beta(0.4, 1.2, size),
}


def sizes(runs: int) -> Iterator[dict[str, Any]]:
    """Yield how often skill of equal groups differs on one scale, and its bias."""
    for number, (name, second) in enumerate(ROOMS.items()):
        for seeds, n in ((3, 12), (3, 60), (5, 60), (8, 150)):
            rng = np.random.default_rng([1, number, seeds, n])
            p, gap = [], []
            for _ in range(runs):
                parts = []
                for rooms in (ROOMS["equal"], second):
                    room = rooms(rng, (seeds, n))
                    gain = room * (0.5 + rng.normal(0, 0.25, (seeds, n)) + rng.normal(0, 0.2, n))
                    parts.append((gain, room))
                names = [ORDER[0]] * n + [ORDER[1]] * n
                gains, rooms_of = (np.concatenate(pair, 1) for pair in zip(*parts, strict=True))
                rows = [
                    linearised(gain, room, names)
                    for gain, room in zip(gains, rooms_of, strict=True)
                ]
                test = crossed_tests(rows, names, ORDER, alpha=ALPHA)[0]
                p.append(test.p_mean)
                gap.append(test.estimate)
            yield {
                "room": name,
                "trainings": seeds,
                "texts": n,
                "at 5 %": float((np.array(p) <= 0.05).mean()),
                "at 0.5 %": float((np.array(p) <= 0.005).mean()),
                "bias": float(np.mean(gap)),
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    runs = parser.parse_args().runs
    print(pd.DataFrame(settings(runs)).to_markdown(index=False), end="\n\n")
    print(pd.DataFrame(sizes(runs)).to_markdown(index=False, floatfmt=".3f"))


if __name__ == "__main__":
    main()
