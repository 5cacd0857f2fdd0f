"""Measure how often intervals of Cohen's d hold the true d, on distributions of real scores.

Usage: python benchmarks/interval_coverage.py RESULTS [--simulations N] [--every K] [--sizes 6 ...]

The matched sets of every scores artefact below RESULTS are a population: samples are drawn
from it with replacement, whole sets (paired) or each group by itself (unpaired), as the scores are
and with half a standard deviation added to those of the first group.

Printed is the coverage of all samples, and of those in which the package shows an interval; of the
populations (for the latter, those that show it in a quarter of their samples or more) the lowest
and highest coverage, and the share that is from 93 to 97 %.
"""

from __future__ import annotations

import argparse
import itertools
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from exparity.artefacts.files import read_artefact
from exparity.stats.effect import cohens_d
from exparity.stats.jackknife import d_without_each, ends_of, is_shown

LEVEL = 0.95
SHIFTS = (0.0, 0.5)
Ends = tuple[np.ndarray, np.ndarray]


def populations(results: Path) -> Iterator[tuple[str, np.ndarray]]:
    """Yield name and (m, 2) scores of the first two groups in the complete sets of an artefact."""
    for path in sorted(p for p in results.rglob("*.parquet") if "scores" in p.parts):
        table, metadata = read_artefact(path, "scores")
        order, sets = metadata.groups[:2], defaultdict[str, dict[str, float]](dict)
        for row in table.select(["match_id", "group", "score"]).to_pylist():
            if row["match_id"] is not None and row["score"] == row["score"]:
                sets[row["match_id"]][row["group"]] = row["score"]
        scores = np.array([[s[g] for g in order] for s in sets.values() if set(order) <= set(s)])
        if len(scores) >= 20 and np.ptp(scores) > 0:
            yield "/".join(path.parts[-5:]).removesuffix(".parquet"), scores


def jackknife(a: np.ndarray, b: np.ndarray, paired: bool) -> Ends:
    """Return the interval of the package."""
    sums = [np.stack([x**0, x, x**2], axis=-1) for x in (a, b)]
    nothing = np.zeros_like(sums[0])
    strata = [np.concatenate(parts, axis=-1) for parts in ((sums[0], nothing), (nothing, sums[1]))]
    strata = [strata[0] + strata[1]] if paired else strata
    return ends_of(*d_without_each(strata, ddof=1), confidence=LEVEL)


def measured(
    scores: np.ndarray, n: int, paired: bool, simulations: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return whether each sample's interval holds d, and which samples show one."""
    rng = np.random.default_rng([n, paired])
    first = rng.integers(0, len(scores), (simulations, n))
    second = first if paired else rng.integers(0, len(scores), first.shape)
    a, b = scores[first, 0], scores[second, 1]
    d = float(cohens_d(*scores.T, ddof=0))
    with np.errstate(all="ignore"):  # samples without variance have no interval
        defined = np.isfinite(cohens_d(a, b)) & (np.ptp(a, axis=-1) + np.ptp(b, axis=-1) > 0)
        a, b = a[defined], b[defined]
        low, high = jackknife(a, b, paired)
        shown = is_shown(a, n) & is_shown(b, n)
    return np.where(np.isfinite(low + high), (low <= d) & (d <= high), False), shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--simulations", type=int, default=2000)
    parser.add_argument("--every", type=int, default=1, help="take every K-th population")
    parser.add_argument("--sizes", type=int, nargs="+", default=[6, 12, 30, 96, 300])
    options = parser.parse_args()
    cells: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    chosen = itertools.islice(populations(options.results), 0, None, options.every)
    for count, (name, scores) in enumerate(chosen, 1):
        for shift, paired, n in itertools.product(SHIFTS, (True, False), options.sizes):
            moved = scores + np.array([shift * scores.std(), 0.0])
            cells[paired, n].append(measured(moved, n, paired, options.simulations))
        print(f"{count}: {name}", flush=True)
    print("| design | n | of samples | cover | lowest | highest | in 93–97 % |")
    print("|---|---|---|---|---|---|---|")
    for (paired, n), rows in sorted(cells.items(), key=str):
        holds, shown = ([*parts] for parts in zip(*rows, strict=True))
        design = "paired" if paired else "unpaired"
        for name, masks in (("all", [np.ones_like(mask) for mask in shown]), ("shown", shown)):
            print(f"| {design} | {n} | {name} {summary(holds, masks)} |")


def summary(holds: list[np.ndarray], masks: list[np.ndarray]) -> str:
    """Return the share of samples that are chosen, and how often their intervals hold d."""
    share = np.concatenate(masks).mean()
    often = [h[m].mean() for h, m in zip(holds, masks, strict=True) if m.mean() >= 0.25] or [np.nan]
    covers = np.concatenate(holds)[np.concatenate(masks)].mean() if share else np.nan
    within = np.mean([0.93 <= rate <= 0.97 for rate in often])
    rates = " | ".join(f"{100 * rate:.1f}" for rate in (covers, min(often), max(often)))
    return f"{100 * share:.0f} % | {rates} | {100 * within:.0f} % of {len(often)}"


if __name__ == "__main__":
    main()
