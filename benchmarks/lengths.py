"""Measure gaps in forward simulation that come from the length of texts alone, by simulation.

Usage: python benchmarks/lengths.py [--runs N] [--texts N]

Classifiers are additive: a few words of a text count 1.5 each, give or take 30 %, and the others
hardly. An explanation has the true weights and noise, 0.7 of their spread in the text unless the
setting says otherwise. Of each group, as many texts are foreseen in one training. A study finds
something where p ≤ 0.05: by Welch's test of all texts, and within strata of length. The last
columns are the share of studies whose groups are not comparable, and the smaller share of a group
that takes part in the others.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import ttest_ind

from exparity.stats.crossed import NOT_COMPARABLE, crossed_tests
from exparity.types import FloatArray, IntArray

DRAWS, POOL, ALPHA, LONGEST = 64, 1000, 0.05, 40
ORDER = ("first", "second")
RNG = np.random.default_rng(0)
Lengths = Callable[[int], IntArray]


@dataclass
class Texts:
    """Texts of a group: how long they are, how many of their words count, and the noise."""

    lengths: Lengths
    words: int = 3
    noise: float = 0.7

    def foreseen(self, lengths: IntArray) -> FloatArray:
        """Return the correlation of texts of so many words."""
        values = np.empty(len(lengths))
        for n in np.unique(lengths).tolist():
            pool = correlations(n, self.words, self.noise)
            chosen = lengths == n
            values[chosen] = RNG.choice(pool, chosen.sum())
        return values


@cache
def correlations(n: int, words: int, noise: float) -> FloatArray:
    """Return forward simulation of many texts of n words."""
    count = min(words, n)
    weights = RNG.normal(0, 0.1, (POOL, n))
    weights[:, :count] = 1.5 * (1 + 0.3 * RNG.uniform(-1, 1, (POOL, count)))
    spread = weights.std(axis=1, keepdims=True)
    explained = weights + noise * spread * RNG.normal(size=weights.shape)
    out = RNG.random((POOL, DRAWS, n)).argsort(axis=2).argsort(axis=2) < n // 2
    falls, predicted = (np.einsum("tkn,tn->tk", out, each) for each in (weights, explained))
    falls -= falls.mean(axis=1, keepdims=True)
    predicted -= predicted.mean(axis=1, keepdims=True)
    norms = np.sqrt((falls**2).sum(axis=1) * (predicted**2).sum(axis=1))
    return np.asarray((falls * predicted).sum(axis=1) / norms)


def uniform(low: int, high: int) -> Lengths:
    """Return lengths from low to high."""
    return lambda n: RNG.integers(low, high + 1, n)


def lognormal(median: float, sd: float) -> Lengths:
    """Return lengths of a median, from 4 to the longest."""
    return lambda n: np.clip(np.exp(RNG.normal(np.log(median), sd, n)), 4, LONGEST).astype(int)


SETTINGS = {
    "6 to 20 / 6 to 20": (Texts(uniform(6, 20)), Texts(uniform(6, 20))),
    "4 to 16 / 8 to 24": (Texts(uniform(4, 16)), Texts(uniform(8, 24))),
    "4 to 20 / 10 to 36": (Texts(uniform(4, 20)), Texts(uniform(10, 36))),
    "median 10 / 20": (Texts(lognormal(10, 0.5)), Texts(lognormal(20, 0.5))),
    "median 6 / 12, one word counts": (
        Texts(lognormal(6, 0.6), words=1),
        Texts(lognormal(12, 0.6), words=1),
    ),
    "12 / 24": (Texts(uniform(12, 12)), Texts(uniform(24, 24))),
    "12 / 36": (Texts(uniform(12, 12)), Texts(uniform(36, 36))),
    "4 / 16, one word counts": (Texts(uniform(4, 4), words=1), Texts(uniform(16, 16), words=1)),
    "6 / 16, two words count": (Texts(uniform(6, 6), words=2), Texts(uniform(16, 16), words=2)),
    "8 / 24": (Texts(uniform(8, 8)), Texts(uniform(24, 24))),
    "median 10 / 20, random": (
        Texts(lognormal(10, 0.5), noise=50),
        Texts(lognormal(20, 0.5), noise=50),
    ),
    "median 10 / 20, noise 0.7 / 0.9": (
        Texts(lognormal(10, 0.5)),
        Texts(lognormal(20, 0.5), noise=0.9),
    ),
    "median 10 / 20, noise 0.9 / 0.7": (
        Texts(lognormal(10, 0.5), noise=0.9),
        Texts(lognormal(20, 0.5)),
    ),
}


def measured(first: Texts, second: Texts, runs: int, n: int) -> dict[Any, float]:
    """Return the rates of one setting, in percent."""
    rows = []
    for _ in range(runs):
        lengths = [group.lengths(n) for group in (first, second)]
        values = [group.foreseen(own) for group, own in zip((first, second), lengths, strict=True)]
        covariate = np.concatenate(lengths).astype(float)
        groups = [name for name in ORDER for _ in range(n)]
        (test,) = crossed_tests([np.concatenate(values)], groups, ORDER, covariate=covariate)
        plain = ttest_ind(*values, equal_var=False).pvalue
        is_apart = NOT_COMPARABLE in test.flags
        part = np.nan if is_apart else min(test.n_a, test.n_b) / n
        rows.append((plain <= ALPHA, test.p_mean <= ALPHA, is_apart, part))
    names = ("all texts", "like with like", "not comparable", "part")
    with np.errstate(invalid="ignore"):
        means = pd.DataFrame(rows, columns=[*names]).astype(float).mean()
    return {name: round(100 * share, 1) for name, share in means.items()}


def main() -> None:
    """Print a table of all settings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--texts", type=int, default=100)
    options = parser.parse_args()
    table = {
        name: measured(*groups, options.runs, options.texts) for name, groups in SETTINGS.items()
    }
    print(pd.DataFrame(table).T.to_string())


if __name__ == "__main__":
    main()
