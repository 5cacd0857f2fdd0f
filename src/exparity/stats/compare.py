"""Comparison of a metric between groups: two of them, or all pairs of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from exparity.core.calls import checked, listed
from exparity.core.errors import InputError, shown
from exparity.core.grouping import grouped
from exparity.core.settings import DEFAULTS, Statistics
from exparity.explanations.markup import notebook_html
from exparity.stats.effect import cohens_d, d_z, mean_and_variance, rank_biserial
from exparity.stats.jackknife import interval_of_d
from exparity.stats.power import smallest_p
from exparity.stats.rank_tests import friedman, kruskal_wallis, mann_whitney, signed_rank
from exparity.stats.samples import (
    GroupedTexts,
    complete_sets,
    samples,
    set_differences,
    set_index,
    set_means,
)
from exparity.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class GroupComparison:
    """Two groups compared on one metric; every difference is first group minus second.

    Attributes:
        group_a, group_b: first and second group.
        n_a, n_b: defined values of each.
        mean_a, mean_b: their means, in the metric's unit, as all that is not said to be otherwise.
        sd_a, sd_b: their standard deviations.
        mean_difference: ``mean_a − mean_b``.
        U: Mann–Whitney U of the first group.
        p: its two-sided p-value, in [0, 1], as all that follow.
        significant: p at most α.
        cohens_d: standardised mean difference, in standard deviations.
        d_ci_low, d_ci_high: ends of its interval; NaN where none covers.
        considerable: |d| at least the threshold.
        rank_biserial: rank-biserial correlation, in [−1, 1].
        direction: sign of the mean difference: 1, −1 or 0.
        n_pairs: matched sets in which both groups have a defined value; 0 without pairs.
        wilcoxon_p: two-sided p-value of the signed-rank test on them.
        d_z: paired effect size on them.
        n_undefined: values that are NaN and so left out.
        n_examples: all values, defined or not.
        flags: what to know before trusting the row, such as ``constant`` or ``too_few``.
        n_groups: groups with at least two defined values, of all that were compared together.
        omnibus: the test over all of them, ``kruskal_wallis``; empty for fewer than three, where
            the numbers that follow are NaN.
        omnibus_statistic: its H, corrected for ties.
        omnibus_p: its p-value.
        epsilon_squared: its effect size H/(n − 1), in [0, 1] (Tomczak and Tomczak 2014).
        n_sets: matched sets with a defined value of every group; 0 for fewer than three groups.
        friedman_statistic: the Friedman test's statistic on these sets; NaN below two sets.
        friedman_p: its p-value.

    Examples:
        >>> import exparity
        >>> comparison = exparity.compare_groups([2, 4, 1, 3], ["male", "male", "female", "female"])
        >>> comparison.group_a, comparison.mean_a, comparison.n_a
        ('male', 3.0, 2)
    """

    group_a: str
    group_b: str
    n_a: int
    n_b: int
    mean_a: float
    mean_b: float
    sd_a: float
    sd_b: float
    mean_difference: float
    U: float = np.nan
    p: float = np.nan
    significant: bool = False
    cohens_d: float = np.nan
    d_ci_low: float = np.nan
    d_ci_high: float = np.nan
    considerable: bool = False
    rank_biserial: float = np.nan
    direction: int = 0
    n_pairs: int = 0
    wilcoxon_p: float = np.nan
    d_z: float = np.nan
    n_undefined: int = 0
    n_examples: int = 0
    flags: list[str] = field(default_factory=list)
    n_groups: int = 0
    omnibus: str = ""
    omnibus_statistic: float = np.nan
    omnibus_p: float = np.nan
    epsilon_squared: float = np.nan
    n_sets: int = 0
    friedman_statistic: float = np.nan
    friedman_p: float = np.nan

    def _repr_html_(self) -> str:
        """Return how notebooks show it: a small table."""
        return notebook_html(Path(__file__).with_name("comparison.html.j2"), c=self)


def without_ranks(comparison: GroupComparison) -> GroupComparison:
    """Return a comparison of values whose ranks mean nothing: what is made of them is blank."""
    return replace(
        comparison,
        U=np.nan,
        p=np.nan,
        significant=False,
        rank_biserial=np.nan,
        wilcoxon_p=np.nan,
        omnibus="",
        omnibus_statistic=np.nan,
        omnibus_p=np.nan,
        epsilon_squared=np.nan,
        friedman_statistic=np.nan,
        friedman_p=np.nan,
    )


@checked
def compare_groups(
    values: Sequence[float] | FloatArray,
    groups: Sequence[str],
    order: tuple[str, str] = ("male", "female"),
    pairs: Sequence[str | None] | None = None,
    *,
    alpha: float = DEFAULTS.alpha,
    threshold: float = DEFAULTS.threshold,
    ddof: int = DEFAULTS.ddof,
    confidence: float = DEFAULTS.confidence,
    resamples: int = DEFAULTS.resamples,
) -> GroupComparison:
    """Compare a metric's values between two groups.

    The tests are those of Mann and Whitney (1947) and, on matched sets, of Wilcoxon (1945); d is
    Cohen's (1988) with a jackknife interval. docs/statistics.md has every formula.

    Args:
        values: (n,) one value per example, in the metric's unit; NaN where undefined.
        groups: (n,) group of each example.
        order: first and second group; fixes the sign.
        pairs: (n,) matched set of each example; None or NaN for unmatched examples. Without any
            set, paired statistics are NaN and the interval takes rows as independent.
        alpha: largest p-value that is significant, between 0 and 1.
        threshold: |d| from which an effect is considerable, 0 or more.
        ddof: degrees of freedom taken off in the variances of d, 0 or 1.
        confidence: coverage of the interval of d, between 0 and 1.
        resamples: 0 omits the interval of d. Other numbers do not change it.

    Returns:
        The comparison. Degenerate input (no or one value in a group, constant values) gives a row
        with flags, and NaN where a value is undefined.

    Raises:
        InputError: lengths disagree, a value is infinite, a group is not one of ``order``, or an
            option is out of range.

    Examples:
        >>> import exparity
        >>> scores = [0.4, 0.5, 0.6, 0.1, 0.2, 0.3]
        >>> groups = ["female"] * 3 + ["male"] * 3
        >>> comparison = exparity.compare_groups(scores, groups, order=("female", "male"))
        >>> round(comparison.mean_difference, 2), round(comparison.p, 2)
        (0.3, 0.1)
    """
    if len(listed(order, "order", "groups")) != 2:
        raise InputError(f"order must name two groups, not {shown(order)}")
    settings = {"alpha": alpha, "threshold": threshold, "ddof": ddof}
    (comparison,) = compare_all(
        values, groups, order, pairs, confidence=confidence, resamples=resamples, **settings
    )
    return comparison


def compare_all(
    values: Sequence[float] | FloatArray,
    groups: Sequence[str],
    order: Sequence[str],
    pairs: Sequence[str | None] | None = None,
    **settings: float,
) -> list[GroupComparison]:
    """Compare a metric's values between every two of several groups, and between all at once.

    Arguments are those of :func:`compare_groups`. Each comparison, one per pair of groups, carries
    the tests over all groups, which are left empty for two: there they would say what ``p`` and
    ``wilcoxon_p`` say.
    """
    scores, codes, sets = samples(values, groups, order, pairs)
    texts = GroupedTexts(order, codes, sets)
    (comparisons,) = compare_many([scores], texts, Statistics(**settings))
    return comparisons


def compare_many(
    values: Sequence[FloatArray], texts: GroupedTexts, settings: Statistics
) -> list[list[GroupComparison]]:
    """Compare many metrics' values of the same texts, each as :func:`compare_all` does."""
    order = texts.order
    codes = texts.codes
    scores = np.array(values, dtype=np.float64).reshape(len(values), len(texts))
    compared: list[list[GroupComparison]] = [[] for _ in scores]
    # Those that are defined alike are compared at once.
    for rows in grouped(range(len(scores)), lambda row: np.isnan(scores[row]).tobytes()).values():
        defined = ~np.isnan(scores[rows[0]])
        omnibus = _compared_at_once(
            scores[rows][:, defined], codes[defined], len(order), set_index(texts.sets, defined)
        )
        for a, b in combinations(range(len(order)), 2):
            kept = (codes == a) | (codes == b)
            pair = np.ascontiguousarray(scores[rows][:, kept & defined])
            sets = set_index(texts.sets_of(kept), defined[kept])
            columns = _pair_compared(pair, codes[kept & defined] == a, sets, settings) | omnibus
            n_examples = int(kept.sum())
            n_undefined = int((kept & ~defined).sum())
            for i, row in enumerate(rows):
                fields = {name: column[i] for name, column in columns.items()}
                if n_undefined:
                    fields["flags"] = ["undefined_values", *fields["flags"]]
                fields |= {"n_examples": n_examples, "n_undefined": n_undefined}
                compared[row].append(GroupComparison(str(order[a]), str(order[b]), **fields))
    return compared


@np.errstate(over="ignore", invalid="ignore")  # of huge values
def _pair_compared(
    values: FloatArray, is_first: BoolArray, sets: IntArray | None, settings: Statistics
) -> dict[str, list[Any]]:
    """Compare two groups by each row of (r, n) defined values; return columns of r."""
    a = np.ascontiguousarray(values[:, is_first])
    b = np.ascontiguousarray(values[:, ~is_first])
    rows = len(values)
    n_a = a.shape[1]
    n_b = b.shape[1]
    mean_a, sd_a = _means_and_sds(a)
    mean_b, sd_b = _means_and_sds(b)
    difference = mean_a - mean_b
    columns: dict[str, ArrayLike] = {"n_a": n_a, "n_b": n_b, "mean_difference": difference}
    columns |= {"mean_a": mean_a, "mean_b": mean_b, "sd_a": sd_a, "sd_b": sd_b}
    columns |= {"direction": np.sign(np.nan_to_num(difference)).astype(np.int64)}
    if min(n_a, n_b) < 2:
        return {**_lists(columns, rows), "flags": [["too_few"] for _ in range(rows)]}
    u, p = mann_whitney(a, b)
    d = cohens_d(a, b, ddof=settings.ddof)
    differences = set_differences(values, is_first, sets)
    n_pairs = differences.shape[1]
    columns |= {"U": u, "p": p, "significant": p <= settings.alpha, "n_pairs": n_pairs}
    columns |= {"cohens_d": d, "considerable": np.abs(d) >= settings.threshold}
    columns |= {"rank_biserial": rank_biserial(u, n_a, n_b)}
    if n_pairs >= 2:
        columns |= {"wilcoxon_p": signed_rank(differences)}
        columns |= {"d_z": np.where(differences.any(axis=1), d_z(differences), np.nan)}
    few = smallest_p(n_a, n_b, n_pairs if n_pairs >= 2 else 0) > settings.alpha
    constant = np.ptp(values, axis=1) == 0
    named = {"constant": constant, "no_variance": np.isinf(d), "cannot_pass": few & ~constant}
    flags = [[name for name, holds in named.items() if holds[i]] for i in range(rows)]
    ends = np.full((2, rows), np.nan)
    for i in np.flatnonzero(np.isfinite(d)) if settings.resamples else ():
        *ends[:, i], interval_flags = interval_of_d(
            values[i], is_first, sets, ddof=settings.ddof, confidence=settings.confidence
        )
        flags[i] += interval_flags
    columns |= {"d_ci_low": ends[0], "d_ci_high": ends[1]}
    return {**_lists(columns, rows), "flags": flags}


def _lists(columns: Mapping[str, ArrayLike], rows: int) -> dict[str, list[Any]]:
    """Return columns of one value, or of one a row, as lists of one a row."""
    return {name: np.broadcast_to(column, rows).tolist() for name, column in columns.items()}


def _means_and_sds(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of each row; NaN where there are too few values."""
    rows, n = values.shape
    if n < 2:
        return values[:, 0] if n else np.full(rows, np.nan), np.full(rows, np.nan)
    mean, variance = mean_and_variance(values)
    return mean, np.sqrt(variance)


def _compared_at_once(
    values: FloatArray, codes: IntArray, groups: int, sets: IntArray | None
) -> dict[str, list[Any]]:
    """Test whether any group differs; only the number of groups where they are fewer than three."""
    present = np.flatnonzero(np.bincount(codes, minlength=groups) >= 2)
    columns: dict[str, ArrayLike] = {"n_groups": len(present)}
    if len(present) >= 3:
        h, p = kruskal_wallis([np.ascontiguousarray(values[:, codes == code]) for code in present])
        n = int(np.isin(codes, present).sum())
        columns |= {"omnibus": "kruskal_wallis", "omnibus_statistic": h, "omnibus_p": p}
        columns |= {"epsilon_squared": h / (n - 1)}
        if sets is not None:
            means = set_means(values, np.broadcast_to(codes, values.shape), sets, groups)
            means = means[:, :, present]
            means = means[:, complete_sets(means[0])]
            columns |= {"n_sets": means.shape[1]}
            if means.shape[1] >= 2:
                statistic, p = friedman(means)
                columns |= {"friedman_statistic": statistic, "friedman_p": p}
    return _lists(columns, len(values))
