"""Measure how often intervals of Cohen's d hold the true d, on distributions of real scores.

Usage: python benchmarks/interval_coverage.py RESULTS [--simulations N] [--every K] [--sizes 6 ...]

The matched sets of every scores artefact below RESULTS are a population: samples are drawn
from it with replacement, whole sets (paired) or each group by itself (unpaired), as the scores are
and with half a standard deviation added to those of the first group. All samples of a population
share the resamples of a bootstrap, drawn as weights.

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
from exparity.stats.jackknife import is_shown, jackknife_ends

LEVEL = 0.95
TAIL = (1 - LEVEL) / 2
RESAMPLES = 599
SHIFTS = (0.0, 0.5)
Ends = tuple[np.ndarray, np.ndarray]


def populations(results: Path) -> Iterator[tuple[str, np.ndarray]]:
    """Yield name and (m, 2) scores of the first two groups in the complete sets of an artefact."""
    for path in sorted(p for p in results.rglob("*.parquet") if "scores" in p.parts):
        table, metadata = read_artefact(path, "scores")
        order, sets = metadata["groups"][:2], defaultdict[str, dict[str, float]](dict)
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
    return jackknife_ends([strata[0] + strata[1]] if paired else strata, ddof=1, confidence=LEVEL)


def moments(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return d, its denominator, and both variances."""
    v_a, v_b = a.var(-1, ddof=1), b.var(-1, ddof=1)
    s = np.sqrt((v_a + v_b) / 2)
    return (a.mean(-1) - b.mean(-1)) / s, s, v_a, v_b


def around(d: np.ndarray, variance: np.ndarray, freedom: np.ndarray | float) -> Ends:
    from scipy.special import stdtrit

    reach = stdtrit(freedom, 1 - TAIL) * np.sqrt(variance)
    return d - reach, d + reach


def influences(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what each value of either group adds to d, times n."""
    d, s, *_ = moments(a, b)
    parts = []
    for x, sign in ((a, 1), (b, -1)):
        centred = x - x.mean(-1, keepdims=True)
        squares = centred**2 - (centred**2).mean(-1, keepdims=True)
        parts.append(sign * centred / s[..., None] - squares * (d / (4 * s**2))[..., None])
    return parts[0], parts[1]


def delta(a: np.ndarray, b: np.ndarray, paired: bool) -> Ends:
    """Return the interval by the delta method, without assumption on the distribution."""
    n, (u, v) = a.shape[-1], influences(a, b)
    parts = [x.var(-1, ddof=1) / n for x in ([u + v] if paired else [u, v])]
    total = np.asarray(sum(parts))
    return around(moments(a, b)[0], total, total**2 * (n - 1) / sum(x**2 for x in parts))


def bonett(a: np.ndarray, b: np.ndarray, paired: bool) -> Ends:
    """Return the closed form of Bonett (2008) for normal scores, with quantiles of t."""
    n = a.shape[-1]
    d, s, v_a, v_b = moments(a, b)
    shared = ((a - a.mean(-1, keepdims=True)) * (b - b.mean(-1, keepdims=True))).sum(-1) / (n - 1)
    shared = shared if paired else 0 * shared
    squares = v_a**2 + v_b**2 + 2 * shared**2
    variance = d**2 * squares / (8 * s**4 * (n - 1)) + (v_a + v_b - 2 * shared) / (s**2 * n)
    return around(d, variance, (n - 1) * (1 if paired else 2))


def permuted(a: np.ndarray, b: np.ndarray, paired: bool) -> Ends:
    """Return the shifts of the mean that permutations do not reject, over the denominator of d.

    They are quantiles of the mean over random subsets (Hartigan 1969) of pairs, or of as many
    values of either group.
    """
    rng, n = np.random.default_rng(1), a.shape[-1]
    if paired:
        kept = rng.random((RESAMPLES, n)) < 0.5
        kept[~kept.any(axis=1), 0] = True
        means = (kept / kept.sum(axis=1, keepdims=True)) @ (a - b).T
    else:
        size = np.maximum(rng.hypergeometric(n, n, n, RESAMPLES), 1)[:, None]
        first, second = (
            (rng.permuted(np.tile(np.arange(n), (RESAMPLES, 1)), axis=1) < size) / size
            for _ in range(2)
        )
        means = first @ a.T - second @ b.T
    low, high = np.quantile(means, [TAIL, 1 - TAIL], axis=0) / moments(a, b)[1]
    return low, high


def bootstrapped(a: np.ndarray, b: np.ndarray, paired: bool) -> dict[str, Ends]:
    """Return the percentile, basic, BCa and studentised intervals from the same resamples."""
    rng, n = np.random.default_rng(0), a.shape[-1]
    drawn = [rng.integers(0, n, (RESAMPLES, n)) for _ in range(2)]
    drawn[1] = drawn[0] if paired else drawn[1]
    ends: dict[str, list[np.ndarray]] = defaultdict(list)
    for x, y in zip(a, b, strict=True):
        u, v = x[drawn[0]], y[drawn[1]]
        resampled, d = moments(u, v)[0], moments(x, y)[0]
        low, high = np.nanquantile(resampled, [TAIL, 1 - TAIL])
        ends["percentile"].append(np.array([low, high]))
        ends["basic"].append(np.array([2 * d - high, 2 * d - low]))
        ends["BCa"].append(np.nanquantile(resampled, corrected_levels(resampled, x, y, paired)))
        errors = [standard_error(*sample, paired) for sample in ((u, v), (x, y))]
        t_low, t_high = np.nanquantile((resampled - d) / errors[0], [TAIL, 1 - TAIL])
        ends["studentised"].append(np.array([d - t_high * errors[1], d - t_low * errors[1]]))
    return {name: tuple(np.array(rows).T) for name, rows in ends.items()}


def standard_error(a: np.ndarray, b: np.ndarray, paired: bool) -> np.ndarray:
    n, (u, v) = a.shape[-1], influences(a, b)
    return np.asarray(np.sqrt(sum(x.var(-1, ddof=1) / n for x in ([u + v] if paired else [u, v]))))


def corrected_levels(resampled: np.ndarray, a: np.ndarray, b: np.ndarray, paired: bool) -> Any:
    """Return the quantiles at which BCa ends (Efron 1987)."""
    from scipy.special import ndtr, ndtri

    d, both = moments(a, b)[0], influences(a, b)
    parts = [both[0] + both[1]] if paired else both
    acceleration = sum((x**3).sum() for x in parts) / sum((x**2).sum() for x in parts) ** 1.5 / 6
    below = (resampled < d).mean() + (resampled == d).mean() / 2
    bias = ndtri(np.clip(below, 1 / RESAMPLES, 1 - 1 / RESAMPLES))
    z = bias + ndtri([TAIL, 1 - TAIL])
    return np.nan_to_num(ndtr(bias + z / (1 - acceleration * z)), nan=0.5).tolist()


CLOSED = {"jackknife": jackknife, "delta": delta, "Bonett": bonett,
          "permutation": permuted}  # fmt: skip


def measured(
    scores: np.ndarray, n: int, paired: bool, options: argparse.Namespace
) -> dict[str, Any]:
    """Return, by candidate, whether each sample's interval holds d; and which samples show one."""
    rng = np.random.default_rng([n, paired])
    first = rng.integers(0, len(scores), (options.simulations, n))
    second = first if paired else rng.integers(0, len(scores), first.shape)
    a, b = scores[first, 0], scores[second, 1]
    d = float(cohens_d(*scores.T, ddof=0))
    with np.errstate(all="ignore"):  # samples without variance have no interval
        defined = np.isfinite(moments(a, b)[0]) & (np.ptp(a, axis=-1) + np.ptp(b, axis=-1) > 0)
        a, b = a[defined], b[defined]
        ends = {name: interval(a, b, paired) for name, interval in CLOSED.items()}
        if options.bootstraps:
            few = options.bootstraps
            ends |= bootstrapped(a[:few], b[:few], paired)
        shown = is_shown(a, n) & is_shown(b, n)
    return {
        name: (
            np.where(np.isfinite(low + high), (low <= d) & (d <= high), False),
            shown[: len(low)],
        )
        for name, (low, high) in ends.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--simulations", type=int, default=2000)
    parser.add_argument("--bootstraps", type=int, default=2000, help="simulations of bootstraps")
    parser.add_argument("--every", type=int, default=1, help="take every K-th population")
    parser.add_argument("--sizes", type=int, nargs="+", default=[6, 12, 30, 96, 300])
    options = parser.parse_args()
    cells: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    chosen = itertools.islice(populations(options.results), 0, None, options.every)
    for count, (name, scores) in enumerate(chosen, 1):
        for shift, paired, n in itertools.product(SHIFTS, (True, False), options.sizes):
            moved = scores + np.array([shift * scores.std(), 0.0])
            for candidate, (holds, shown) in measured(moved, n, paired, options).items():
                cells[candidate, paired, n].append((holds, shown))
        print(f"{count}: {name}", flush=True)
    print("| Interval | design | n | of samples | cover | lowest | highest | in 93–97 % |")
    print("|---|---|---|---|---|---|---|---|")
    for (candidate, paired, n), rows in sorted(cells.items(), key=str):
        holds, shown = ([*parts] for parts in zip(*rows, strict=True))
        design = "paired" if paired else "unpaired"
        for name, masks in (("all", [np.ones_like(mask) for mask in shown]), ("shown", shown)):
            print(f"| {candidate} | {design} | {n} | {name} {summary(holds, masks)} |")


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
