"""Tests over more than two groups at once: does any group differ?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exparity.interface import FloatArray, IntArray
from exparity.stats.rank_tests import friedman, kruskal_wallis
from exparity.stats.sets import complete, set_means

NAN = float("nan")


@dataclass(frozen=True)
class Omnibus:
    """All groups compared on one metric; the numbers are NaN for fewer than three groups.

    Attributes:
        n_groups: groups with at least two defined values, which take part.
        omnibus: the test over all of them, ``kruskal_wallis``; empty for fewer than three.
        omnibus_statistic: its H, corrected for ties.
        omnibus_p: its p-value.
        epsilon_squared: its effect size H/(n − 1), in [0, 1] (Tomczak and Tomczak 2014).
        n_sets: matched sets with a defined value of every group.
        friedman_statistic: the Friedman test's statistic on these sets; NaN below two sets.
        friedman_p: its p-value.
    """

    n_groups: int = 0
    omnibus: str = ""
    omnibus_statistic: float = NAN
    omnibus_p: float = NAN
    epsilon_squared: float = NAN
    n_sets: int = 0
    friedman_statistic: float = NAN
    friedman_p: float = NAN


def compare_at_once(
    scores: FloatArray, codes: IntArray, groups: int, sets: IntArray | None
) -> Omnibus:
    """Test whether any of the groups differs from the others.

    Args:
        scores: (n,) finite scores.
        codes: (n,) number of each one's group, below ``groups``.
        groups: how many groups are declared.
        sets: (n,) number of each one's matched set, or None without matched sets.
    """
    present = np.flatnonzero(np.bincount(codes, minlength=groups) >= 2)
    k = len(present)
    if k < 3:
        return Omnibus(n_groups=k)
    h, p = kruskal_wallis([scores[codes == code] for code in present])
    n = int(np.isin(codes, present).sum())
    n_sets, statistic, friedman_p = 0, NAN, NAN
    if sets is not None:
        means = set_means(scores, codes, sets, groups)[:, present]
        means = means[complete(means)]
        n_sets = len(means)
        if n_sets >= 2:
            statistic, friedman_p = map(float, friedman(means))
    return Omnibus(
        n_groups=k,
        omnibus="kruskal_wallis",
        omnibus_statistic=float(h),
        omnibus_p=float(p),
        epsilon_squared=float(h) / (n - 1),
        n_sets=n_sets,
        friedman_statistic=statistic,
        friedman_p=friedman_p,
    )
