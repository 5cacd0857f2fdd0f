"""Rank tests of ``scipy.stats`` on many samples at once, where all values are equal too.

scipy chooses between exact and normal p-values for all samples of a call together. Here each sample
has what it has alone, and samples without any difference have p = 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from exparity.types import FloatArray

# The largest samples for which scipy takes exact distributions.
_EXACT_GROUP = 8
_EXACT_PAIRS = 50
# The largest samples for which scipy goes through all signs where ranks are tied: most of a second.
_ALL_SIGNS = 13


@np.errstate(all="ignore")
def mann_whitney(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mann–Whitney U test (Mann and Whitney 1947) along the last axis.

    Returns:
        (...) U of the first samples, and its two-sided p-value.
    """
    from scipy.stats import mannwhitneyu

    is_exact = np.zeros(a.shape[:-1], dtype=bool)
    if min(a.shape[-1], b.shape[-1]) <= _EXACT_GROUP:
        is_exact = (np.diff(np.sort(np.concatenate([a, b], axis=-1))) != 0).all(axis=-1)
    u = np.empty(is_exact.shape)
    p = np.empty(is_exact.shape)
    for chosen, method in ((is_exact, "exact"), (~is_exact, "asymptotic")):
        if chosen.any():
            u[chosen], p[chosen] = mannwhitneyu(a[chosen], b[chosen], axis=-1, method=method)
    return u, np.where(np.isnan(p), 1.0, p)


@np.errstate(all="ignore")
def signed_rank(differences: FloatArray) -> FloatArray:
    """Two-sided p of Wilcoxon's signed-rank test (Wilcoxon 1945) along the last axis.

    Differences of zero are dropped.
    """
    from scipy.stats import wilcoxon

    if differences.shape[-1] <= _ALL_SIGNS:
        p = _p_of_each(lambda i: _exact_signed_rank(differences[i]), differences.shape[:-1])
    elif differences.shape[-1] > _EXACT_PAIRS:
        p = np.asarray(wilcoxon(differences, axis=-1).pvalue)
    else:
        p = _p_of_each(lambda i: wilcoxon(differences[i]).pvalue, differences.shape[:-1])
    return np.where(np.isnan(p), 1.0, p)


def _exact_signed_rank(differences: FloatArray) -> float:
    """Return p if all signs of the ranks are equally likely, by the number of ways to each sum."""
    from scipy.stats import rankdata

    if np.isnan(differences).any():
        return np.nan
    nonzero = differences[differences != 0]
    doubled = np.rint(2 * rankdata(np.abs(nonzero))).astype(int)  # whole where ranks are tied, too
    ways = np.zeros(doubled.sum() + 1)
    ways[0] = 1.0
    for rank in doubled:
        ways[rank:] += ways[:-rank].copy()
    statistic = doubled[nonzero > 0].sum()
    tail = min(ways[: statistic + 1].sum(), ways[statistic:].sum())
    return float(min(1.0, 2 * tail / ways.sum()))


@np.errstate(all="ignore")
def kruskal_wallis(samples: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Kruskal–Wallis test (Kruskal and Wallis 1952) along the last axis: H and p."""
    from scipy.stats import kruskal

    return _without_ties(*kruskal(*samples, axis=-1))


@np.errstate(all="ignore")
def friedman(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Friedman test (Friedman 1937) of (..., m, k) values of k groups in m sets: χ² and p."""
    from scipy.stats import friedmanchisquare

    return _without_ties(*friedmanchisquare(*np.moveaxis(values, -1, 0), axis=-1))


def _p_of_each(test: Callable[[tuple[int, ...]], float], shape: tuple[int, ...]) -> FloatArray:
    """Return the p-value of each of some samples, by its place among them."""
    p = np.empty(shape)
    for place in np.ndindex(shape):
        p[place] = test(place)
    return p


def _without_ties(statistic: FloatArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a statistic of 0 and a p of 1 where all values are equal."""
    tied = ~np.isfinite(statistic)  # of rounding by 0, too
    return np.where(tied, 0.0, statistic), np.where(tied, 1.0, p)
