"""Measure how often the tests behind the verdicts err, by simulation.

Usage: python benchmarks/calibration.py [--runs N] [--only TABLE]

A score is what its text and its cell contribute, √(1 − text_sd²)·cell + text_sd·text, in one of
several shapes, with a standard deviation of 1 within groups and trainings. To every difference a
training adds μ + τ·z. Rates are of claims that are false: for ``p_large`` and ``p_small`` the
typical gap √(μ² + τ²) is the threshold itself, for ``p_mean`` μ is 0. Of verdicts, the last table
has the share that is wrong among decided cells, where certainty makes half of all excesses differ.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtri
from shared import markdown

from exparity.stats.mean_gap import Estimate, mean_gap
from exparity.stats.multiplicity import benjamini_hochberg, holm
from exparity.stats.omnibus import any_differs
from exparity.stats.parts import Parts
from exparity.stats.typical_gap import typical_gap
from exparity.stats.verdicts import VERDICTS, judge, standing
from exparity.types import FloatArray

THRESHOLD = 0.2
CLAIMS = ("p_mean", "p_large", "p_small")
LEVELS = (0.05, 0.005, 0.0006)
SIZES = (("matched", 24, 24), ("matched", 200, 200), ("rows", 12, 48), ("rows", 48, 200))
SEEDS = (3, 5, 10)
SHARES = (0.0, 0.7, 1.0)  # τ as a share of R
TAUS = (0.0, 0.3, 1.0)  # where the mean gap is judged
SHAPES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "normal": lambda x: x,
    "skewed": np.exp,
    "tied": lambda x: np.maximum(np.round(x - 0.5), 0.0),  # seven of ten are 0, the others few
}
KINDS = (  # shape, text_sd, share of missing cells
    ("normal", 0.0, 0.0),
    ("normal", 0.7, 0.0),
    ("normal", 0.95, 0.0),
    ("normal", 0.7, 0.3),
    ("skewed", 0.7, 0.0),
    ("tied", 0.7, 0.0),
)
TRAININGS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], FloatArray]] = {
    "t with 4 degrees of freedom": lambda rng, size: rng.standard_t(4, size) / np.sqrt(2),
    "log-normal": lambda rng, size: np.exp(rng.standard_normal(size)) / np.exp(1.0),
    "one in 25 is bad": lambda rng, size: (
        5.0 * (rng.random(size) < 0.04) * rng.choice((-1, 1), size)
    ),
}
"""Gaps of trainings whose root mean square is 1, for the guard."""
_AT_ONCE = 2_000_000  # cells that are simulated at a time


class Setting(NamedTuple):
    """What scores are simulated with."""

    groups: str
    n_a: int
    n_b: int
    seeds: int
    shape: str
    text_sd: float
    missing: float


@cache
def spread(shape: str) -> float:
    """Return the standard deviation of scores of a shape."""
    return float(SHAPES[shape](ndtri((np.arange(1_000_000) + 0.5) / 1_000_000)).std())


def simulated(
    setting: Setting, runs: int, rng: np.random.Generator
) -> Iterator[tuple[list[FloatArray], FloatArray, FloatArray]]:
    """Yield (k, s, n) differences or scores of both groups, (k,) their sd, (k, s, 1) training z."""
    s, n_a, n_b = setting.seeds, setting.n_a, setting.n_b
    of_cell = np.sqrt(1 - setting.text_sd**2)
    for start in range(0, runs, step := max(1, _AT_ONCE // (s * (n_a + n_b)))):
        k = min(step, runs - start)
        parts = []
        for n in (n_a, n_b):
            latent = setting.text_sd * rng.standard_normal((k, 1, n))
            latent = latent + of_cell * rng.standard_normal((k, s, n))
            parts.append(SHAPES[setting.shape](latent) / spread(setting.shape))
        sd = np.sqrt(sum(part.var(axis=-1, ddof=1).mean(axis=-1) for part in parts) / 2)
        parts = [parts[0] - parts[1]] if setting.groups == "matched" else parts
        if setting.missing:
            parts = [np.where(rng.random(x.shape) < setting.missing, np.nan, x) for x in parts]
        yield parts, sd, rng.standard_normal((k, s, 1))


def with_gaps(parts: list[FloatArray], gaps: FloatArray) -> Estimate:
    """Return the mean gap after (k, s, 1) gaps of trainings were added."""
    return mean_gap(parts[0] + gaps, *parts[1:])


def sizes(runs: int) -> Iterator[dict[str, Any]]:
    """Yield the rates of false claims about single cells, and how often intervals cover."""
    settings = (Setting(*size, seeds, *kind) for size, seeds, kind in product(SIZES, SEEDS, KINDS))
    for number, setting in enumerate(settings):
        rng = np.random.default_rng([0, number])
        p: dict[tuple[str, float], list[FloatArray]] = {}
        for parts, sd, z in simulated(setting, runs, rng):
            for share in SHARES:
                tau = THRESHOLD * share
                gap = with_gaps(parts, np.sqrt(THRESHOLD**2 - tau**2) + tau * z)
                test = typical_gap(gap)
                p.setdefault(("p_large", share), []).append(test.p_large(THRESHOLD * sd))
                p.setdefault(("p_small", share), []).append(test.p_small(THRESHOLD * sd))
            for tau in TAUS:
                gap = with_gaps(parts, tau * z)
                p.setdefault(("p_mean", tau), []).append(typical_gap(gap).p_mean)
        for (claim, tau), chunks in p.items():
            values = np.concatenate(chunks)
            rates = {f"{level:g}": float((values <= level).mean()) for level in LEVELS}
            row = {**setting._asdict(), "claim": claim, "tau": tau, **rates}
            if claim == "p_large":
                small = np.concatenate(p["p_small", tau])
                row["covered"] = float(((values > 0.025) & (small > 0.025)).mean())
            yield row


def guards(runs: int) -> Iterator[dict[str, Any]]:
    """Yield how often a size is claimed where trainings are not normal, at the smallest level."""
    for number, (name, seeds) in enumerate(product(TRAININGS, SEEDS)):
        rng = np.random.default_rng([1, number])
        setting = Setting("matched", 200, 200, seeds, "normal", 0.7, 0.0)
        found = kept = 0
        for parts, _, z in simulated(setting, runs, rng):
            gap = with_gaps(parts, THRESHOLD * TRAININGS[name](rng, z.shape))
            test = typical_gap(gap)
            claimed = test.p_large(THRESHOLD) <= LEVELS[-1]
            found += claimed.sum()
            kept += (claimed & (test.p_large_others(THRESHOLD) <= 0.05)).sum()
        rates = {"unguarded": percent(found / runs), "guarded": percent(kept / runs)}
        yield {"trainings": name, "seeds": seeds, **rates}


def families(runs: int) -> Iterator[dict[str, Any]]:
    """Yield what is falsely claimed in families of cells that share their trainings.

    Half of what a training adds is the same in all cells. Of ``p_mean`` no cell has a mean gap;
    in ``mixed`` families a third has one of 1. Of ``p_large`` and ``p_small`` all have a typical
    gap at the threshold, half of its square from the mean.
    """
    cases = [
        *(("p_mean", 0.0, cells, seeds) for cells in (84, 168) for seeds in SEEDS),
        *(("p_mean, mixed", 1.0, 84, seeds) for seeds in SEEDS),
        *(("p_large", THRESHOLD, 84, seeds) for seeds in SEEDS[::2]),
    ]
    for number, (claim, mean, cells, seeds) in enumerate(cases):
        rng = np.random.default_rng([2, number])
        of_size = claim == "p_large"
        tau = THRESHOLD / np.sqrt(2) if of_size else 0.3
        true = np.arange(cells) < (cells // 3 if claim.endswith("mixed") else 0)
        found: dict[str, list[tuple[bool, float]]] = {}
        for _ in range(runs):
            z = rng.standard_normal((1, seeds, 1)) + rng.standard_normal((cells, seeds, 1))
            mu = np.where(true, mean, THRESHOLD / np.sqrt(2) if of_size else 0.0)
            noise = rng.standard_normal((cells, 1, 96)) + rng.standard_normal((cells, seeds, 96))
            test = typical_gap(mean_gap(mu[:, None, None] + tau / np.sqrt(2) * z + noise))
            if of_size:
                ps = {"p_large": test.p_large(THRESHOLD), "p_small": test.p_small(THRESHOLD)}
            else:
                ps = {claim: test.p_mean}
            for name, p in ps.items():
                by_holm, by_bh = (correct(p) <= 0.05 for correct in (holm, benjamini_hochberg))
                share = (by_bh & ~true).sum() / max(1, by_bh.sum())
                found.setdefault(name, []).append((bool((by_holm & ~true).any()), float(share)))
        for name, results in found.items():
            any_false, shares = np.array(results, dtype=float).mean(axis=0)
            rates = {"any by Holm": percent(any_false), "share by BH": percent(shares)}
            yield {"claim": name, "cells": cells, "seeds": seeds, **rates}


class Truth(NamedTuple):
    """Gaps of the cells of a family, in standard deviations.

    Attributes:
        differs: share of the cells whose trainings have a mean gap.
        mean: that gap.
        tau: standard deviation of the gaps of the others' trainings, whose mean is 0.
    """

    differs: float
    mean: float
    tau: float


TRUTHS = {
    "no gap": Truth(0.0, 0.0, 0.1),
    "a third differs": Truth(1 / 3, 0.6, 0.1),
    "at the threshold": Truth(0.0, 0.0, THRESHOLD),
}
"""At the threshold any verdict is wrong; a mean gap makes *different* right, and no other word."""
GAPS = {verdict.id for verdict in VERDICTS if verdict.is_gap}
_OF_CERTAINTY = 1.5
_TEXTS = 150


def judged_families(
    truth: Truth, cells: int, seeds: int, runs: int, rng: np.random.Generator
) -> Iterator[tuple[list[dict[str, Any]], list[bool]]]:
    """Yield the standing rows of families, and whether each cell has a mean gap.

    One half of the cells has a skill, and beside it an excess that certainty makes differ. The
    others have no skill. Half of what a training adds is the same in all cells.
    """
    has_skill = np.arange(cells) % 2 == 0
    differs = np.arange(cells) < round(truth.differs * cells)
    places = [*range(cells), *np.flatnonzero(has_skill).tolist()]
    of_certainty = np.arange(len(places)) >= cells
    means = np.where(of_certainty, _OF_CERTAINTY, np.where(differs[places], truth.mean, 0.0))
    shape = (len(places), seeds)
    for _ in range(runs):
        common = rng.standard_normal((1, seeds)) + rng.standard_normal(shape)
        gaps = means[:, None] + truth.tau / np.sqrt(2) * common
        noise = rng.standard_normal((len(places), 1, _TEXTS)) + rng.standard_normal(
            (*shape, _TEXTS)
        )
        estimate = mean_gap(gaps[..., None] + noise / np.sqrt(2))
        tests = typical_gap(estimate)
        columns = {
            "d": estimate.gap,
            "p_mean": tests.p_mean,
            "p_large": tests.p_large(THRESHOLD),
            "p_large_others": tests.p_large_others(THRESHOLD),
            "p_small": tests.p_small(THRESHOLD),
            "p_cross": estimate.p_cross,
        }
        rows = []
        for row, place in enumerate(places):
            is_skill = bool(has_skill[place]) and not of_certainty[row]
            facts: dict[str, Any] = {
                "dataset": "d",
                "model": "m",
                "method": f"{place}",
                "metric": "m",
            }
            facts |= {"group_a": "a", "group_b": "b", "n_seeds": seeds, "flags": []}
            facts["quantity"] = "skill" if is_skill else "excess"
            rows.append({**facts, **{name: float(of[row]) for name, of in columns.items()}})
        judged = judge(standing(rows))
        yield [row for row in judged if row["stands"]], differs.tolist()


def is_wrong(verdict: str, truth: Truth, differs: bool) -> bool:
    """Return whether a verdict is not true of a cell."""
    if differs:
        return verdict in ("equivalent", "unstable")
    return verdict in GAPS or (verdict == "equivalent" and truth.tau >= THRESHOLD)


def decided(runs: int) -> Iterator[dict[str, Any]]:
    """Yield what is wrong among the decided cells of families, by both corrections."""
    for number, (name, cells, seeds) in enumerate(product(TRUTHS, (1, 6, 12, 42), (5, 8))):
        rng = np.random.default_rng([3, number])
        truth, found = TRUTHS[name], []
        for rows, differs in judged_families(truth, cells, seeds, runs, rng):
            is_decided = [row["verdict"] != "undecided" for row in rows]
            wrong, strictly_wrong = (
                [is_wrong(row[by], truth, own) for row, own in zip(rows, differs, strict=True)]
                for by in ("verdict", "verdict_strict")
            )
            share = sum(wrong) / max(1, sum(is_decided))
            found.append((share, any(strictly_wrong), np.mean(is_decided)))
        share, any_wrong, of_all = np.array(found, dtype=float).mean(axis=0)
        yield {
            "truth": name,
            "cells": cells,
            "seeds": seeds,
            "decided": percent(of_all),
            "wrong among them": percent(share),
            "any wrong by Holm": percent(any_wrong),
        }


OMNIBUS_SIZES = (
    ("texts", (40, 40, 40, 40)),
    ("texts", (12, 30, 80, 200)),
    ("matched", (40, 40, 40, 40)),
)
OMNIBUS_TAUS = {"nothing": (0.0,) * 4, "all alike": (0.3,) * 4, "one alone": (0.5, 0.0, 0.0, 0.0)}
"""Standard deviations of what a training adds to each of four groups."""
OMNIBUS_MEANS = {
    "level": (0.0,) * 4,
    "one group": (0.5, 0.0, 0.0, 0.0),
    "a slope": (-0.3, -0.1, 0.1, 0.3),
}


def omnibus(runs: int) -> Iterator[dict[str, Any]]:
    """Yield how often four groups are found to differ, at once and by pairs with Holm.

    Half of a score's variance is its text's. The first two columns are of groups without a gap.
    """
    cases = product(OMNIBUS_SIZES, (1, 3, 8), OMNIBUS_TAUS)
    for number, ((groups, sizes), seeds, name) in enumerate(cases):
        if seeds == 1 and name != "nothing":
            continue  # one training cannot tell what it adds
        row: dict[str, Any] = {"groups": groups, "sizes": sizes[0] if len({*sizes}) == 1 else sizes}
        row |= {"seeds": seeds, "trainings change": name}
        for truth, means in OMNIBUS_MEANS.items():
            rng = np.random.default_rng([4, number])
            are_sets = groups == "matched"
            common = rng.standard_normal((runs, 1, sizes[0])) if are_sets else 0.0
            parts = [
                mean
                + tau * rng.standard_normal((runs, seeds, 1))
                + rng.standard_normal((runs, 1, n)) / np.sqrt(2)
                + rng.standard_normal((runs, seeds, n)) / np.sqrt(2)
                + common
                for n, mean, tau in zip(sizes, means, OMNIBUS_TAUS[name], strict=True)
            ]
            p = [
                typical_gap(mean_gap(a - b) if are_sets else mean_gap(a, b)).p_mean
                for a, b in combinations(parts, 2)
            ]
            at_once = [
                any_differs(Parts(list(of_run), are_sets)) for of_run in zip(*parts, strict=True)
            ]
            by_pairs = len(p) * np.min(p, axis=0)
            rates = [
                float(np.mean(np.array(values) <= LEVELS[0])) for values in (at_once, by_pairs)
            ]
            row |= {truth: percent(rates[0]), f"{truth}, by pairs": percent(rates[1])}
        yield row


def percent(value: float) -> str:
    """Return a rate in per cent, with two digits below one."""
    return f"{100 * value:.2g}" if value < 0.1 else f"{100 * value:.1f}"


def size_table(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the largest rate of each claim at each level, over all settings of a row."""
    kinds = frame["shape"].where(frame["missing"] == 0, "normal, 30 % missing")
    sizes = frame["n_a"].astype(str) + ", " + frame["n_b"].astype(str)
    rows = []
    for keys, part in frame.groupby([frame["groups"], sizes, kinds], sort=False):
        row = dict(zip(("Groups", "n", "Scores"), keys, strict=True))
        for claim in CLAIMS:
            rates = part.loc[part["claim"] == claim, [f"{level:g}" for level in LEVELS]].max()
            row[f"`{claim}`"] = ", ".join(percent(rate) for rate in rates)
        rows.append({**row, "R covered": percent(part["covered"].min())})
    return rows


TABLES: dict[str, Callable[[int], Iterable[dict[str, Any]]]] = {
    "cells": lambda runs: size_table(pd.DataFrame(sizes(runs))),
    "guard": guards,
    "families": families,
    "verdicts": decided,
    "omnibus": omnibus,
}
"""False claims about one cell; about sizes, with and without the guard; in families; wrong verdicts
of families; and whether any of four groups differs."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--only", choices=TABLES, help="make one table alone")
    arguments = parser.parse_args()
    for title, rows_of in TABLES.items():
        if arguments.only in (None, title):
            print(f"### {title}\n\n{markdown([*rows_of(arguments.runs)])}\n", flush=True)


if __name__ == "__main__":
    main()
