"""Distance of two groups' predicted probabilities, with and without matched sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from exparity.stats.bootstrap import Interval, interval_of
from exparity.stats.samples import TwoGroups, exchangeable, shuffled
from exparity.types import FloatArray

_BATCH = 200  # permutations held at once; bounds memory at large n


def mean_distance(a: FloatArray, b: FloatArray) -> float:
    """Return the mean distance between a value of ``a`` and one of ``b``, over all such pairs.

    Sorting keeps this from needing all len(a) × len(b) distances at once.
    """
    b = np.sort(b)
    sums = np.concatenate([[0.0], np.cumsum(b)])
    below = np.searchsorted(b, a)
    totals = a * below - sums[below] + (sums[-1] - sums[below]) - a * (len(b) - below)
    return max(0.0, float(totals.mean() / len(b)))


def wasserstein(a: FloatArray, b: FloatArray) -> float:
    """Return the Wasserstein-1 distance: the mean distance within the best pairing of the two."""
    from scipy.stats import wasserstein_distance

    return float(wasserstein_distance(a, b))


def wasserstein_by_chance(
    groups: TwoGroups, *, confidence: float, resamples: int, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Return the distance to expect where membership in the groups means nothing.

    A distance between two samples is above 0 also where both come from one distribution. Here the
    groups of the values are permuted: within matched sets, and among values without a set.
    """
    values, in_a, in_b, sets = groups
    kept = in_a | in_b
    chosen, first = values[kept], in_a[kept].astype(np.int64)
    block = exchangeable(len(chosen), None if sets is None else sets[kept])
    order = np.argsort(chosen)
    widths = np.diff(chosen[order])
    distances = np.empty(resamples)
    for start in range(0, resamples, _BATCH):
        drawn = shuffled(first, block, min(_BATCH, resamples - start), rng)[:, order]
        below = drawn.cumsum(axis=1)[:, :-1] / first.sum()
        others_below = (1 - drawn).cumsum(axis=1)[:, :-1] / (1 - first).sum()
        distances[start : start + _BATCH] = np.abs(below - others_below) @ widths
    tail = (1 - confidence) / 2
    low, high = np.quantile(distances, (tail, 1 - tail))
    return float(distances.mean()), float(low), float(high)


def interval_of_gap(groups: TwoGroups, **options: Any) -> Interval:
    """Bootstrap interval of the difference of two groups' means, first minus second.

    Matched sets are resampled whole, since their members are not independent; without any, rows
    are resampled within each group.
    """
    values, in_a, in_b, sets = groups
    if sets is None:

        def of_rows(a: FloatArray, b: FloatArray, axis: int) -> Any:
            return a.mean(axis) - b.mean(axis)

        return interval_of((values[in_a], values[in_b]), of_rows, **options)
    kept = in_a | in_b
    index = np.unique(sets[kept], return_inverse=True)[1]
    size = int(index.max()) + 1
    sums: list[FloatArray] = []
    for mask in (in_a[kept], in_b[kept]):
        for weights in (values[kept][mask], np.ones(int(mask.sum()))):
            sums.append(np.bincount(index[mask], weights, size).astype(np.float64))

    def of_sets(*drawn: FloatArray, axis: int) -> Any:
        total_a, n_a, total_b, n_b = (part.sum(axis) for part in drawn)
        return total_a / n_a - total_b / n_b

    return interval_of(tuple(sums), of_sets, paired=True, **options)
