"""Rank tests, along the last axis, so that one call tests many samples.

The p-values are those of ``scipy.stats``. Its large-sample formulas are written out here, because
loading it takes longer than all the rest of a test job, and because permuted groups are
tested a hundred times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from exparity.types import FloatArray

# The largest samples for which scipy takes exact distributions, without and with ties.
_EXACT_GROUP = 8
_EXACT_PAIRS = 50
_EXACT_TIED_PAIRS = 13


def mid_ranks(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rank values from 1 along the last axis; equal values share the mean of their ranks."""
    n = values.shape[-1]
    rows = values.reshape(-1, n)
    order = np.argsort(rows, axis=-1, kind="stable")
    ordered = np.take_along_axis(rows, order, axis=-1)
    starts = np.ones(rows.shape, dtype=bool)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = np.flatnonzero(starts)  # where runs begin; the first of a row always does
    lengths = np.diff(np.append(first, rows.size))
    shared = np.repeat(first % n + (lengths + 1) / 2, lengths).reshape(rows.shape)
    ranks = np.empty(rows.shape)
    np.put_along_axis(ranks, order, shared, axis=-1)
    sizes = lengths.astype(np.float64)
    ties: FloatArray = np.zeros(len(rows))
    ties += np.bincount(first // n, weights=sizes**3 - sizes, minlength=len(rows))
    return ranks.reshape(values.shape), ties.reshape(values.shape[:-1])


def mann_whitney(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Two-sided Mann–Whitney U test (Mann and Whitney 1947), as ``scipy.stats.mannwhitneyu``.

    Normal with corrections for ties and continuity; exact where a group has at most eight values
    and nothing is tied.
    """
    n_a, n_b = a.shape[-1], b.shape[-1]
    n = n_a + n_b
    ranks, ties = mid_ranks(np.concatenate([a, b], axis=-1))
    u = np.asarray(ranks[..., :n_a].sum(axis=-1) - n_a * (n_a + 1) / 2)
    spread = np.sqrt(n_a * n_b / 12 * ((n + 1) - ties / (n * (n - 1))))
    p = _two_sided(np.abs(u - n_a * n_b / 2) - 0.5, spread)
    exact = ties == 0
    if min(n_a, n_b) <= _EXACT_GROUP and exact.any():
        from scipy.stats import mannwhitneyu

        p[exact] = mannwhitneyu(a[exact], b[exact], method="exact", axis=-1).pvalue
    return u, p


def signed_rank(differences: FloatArray) -> FloatArray:
    """Two-sided p of Wilcoxon's signed-rank test (Wilcoxon 1945), as ``scipy.stats.wilcoxon``.

    Differences of zero are dropped. Normal with a correction for ties; exact up to 50 differences
    if none is zero and no two have the same size, and up to 13 in any case.
    """
    n = differences.shape[-1]
    ranks, ties = mid_ranks(np.abs(differences))
    # Zeros have the lowest ranks: what is left of the others' are ranks without them.
    zeros = np.asarray((differences == 0).sum(axis=-1), dtype=np.float64)
    ranks = np.maximum(ranks - zeros[..., None], 0)
    ties = ties - (zeros**3 - zeros)
    count = n - zeros
    positive = (ranks * (differences > 0)).sum(axis=-1)
    spread = np.sqrt((count * (count + 1) * (2 * count + 1) - ties / 2) / 24)
    p = _two_sided(np.abs(positive - count * (count + 1) / 4), spread)
    if n <= _EXACT_PAIRS:
        exact = (count > 0) & ((n <= _EXACT_TIED_PAIRS) | ((zeros == 0) & (ties == 0)))
        for place in map(tuple, np.argwhere(exact)):
            p[place] = _exact_signed_rank(ranks[place], float(positive[place]))
    return p


def _exact_signed_rank(ranks: FloatArray, positive: float) -> float:
    """Two-sided p of a sum of ranks when every sign is as likely as the other."""
    halves = np.rint(2 * ranks[ranks > 0]).astype(np.int64)
    ways = np.zeros(int(halves.sum()) + 1)  # sign patterns by their sum of ranks, doubled
    ways[0] = 1
    for half in halves.tolist():
        ways[half:] += ways[:-half].copy()
    doubled = round(2 * positive)
    least = min(ways[: doubled + 1].sum(), ways[doubled:].sum())
    return min(1.0, 2 * float(least) / 2.0 ** len(halves))


def kruskal_wallis(samples: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Kruskal–Wallis test (Kruskal and Wallis 1952), as ``scipy.stats.kruskal``."""
    ranks, ties = mid_ranks(np.concatenate(samples, axis=-1))
    n = ranks.shape[-1]
    ends = np.cumsum([sample.shape[-1] for sample in samples])[:-1]
    squares = sum(part.sum(axis=-1) ** 2 / part.shape[-1] for part in np.split(ranks, ends, -1))
    h = 12 / (n * (n + 1)) * np.asarray(squares) - 3 * (n + 1)
    return _chi_squared(h, 1 - ties / (n**3 - n), len(samples) - 1)


def friedman(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Friedman test (Friedman 1937), as ``scipy.stats.friedmanchisquare``."""
    m, k = values.shape[-2:]
    ranks, ties = mid_ranks(values)
    squares = (ranks.sum(axis=-2) ** 2).sum(axis=-1)
    statistic = 12 / (k * m * (k + 1)) * squares - 3 * m * (k + 1)
    return _chi_squared(statistic, 1 - ties.sum(axis=-1) / (k * (k * k - 1) * m), k - 1)


def _two_sided(distance: FloatArray, spread: FloatArray) -> FloatArray:
    """Twice the normal tail beyond ``distance``, at most 1; 1 where nothing spreads."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(spread > 0, distance / spread, 0.0)
    tails = [math.erfc(x / math.sqrt(2)) for x in z.ravel().tolist()]
    return np.asarray(np.minimum(np.reshape(tails, z.shape), 1.0))


def _chi_squared(
    statistic: FloatArray, correction: FloatArray, freedom: int
) -> tuple[FloatArray, FloatArray]:
    """Divide a statistic by its correction for ties, 0 if all is tied, and find its p."""
    from scipy.special import chdtrc

    with np.errstate(divide="ignore", invalid="ignore"):
        corrected = np.where(correction > 0, np.maximum(statistic, 0) / correction, 0.0)
    return corrected, np.asarray(chdtrc(freedom, corrected))
