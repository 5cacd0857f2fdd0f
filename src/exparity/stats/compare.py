"""Comparison of a metric between groups: two of them, or all pairs of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from exparity.core.calls import checked, shown
from exparity.core.errors import InputError
from exparity.core.settings import Statistics
from exparity.explanations.markup import notebook_html
from exparity.stats.bootstrap import Interval
from exparity.stats.effect import cohens_d, d_z, mean_and_variance, rank_biserial
from exparity.stats.jackknife import interval_of_d
from exparity.stats.power import smallest_p
from exparity.stats.rank_tests import friedman, kruskal_wallis, mann_whitney, signed_rank
from exparity.stats.samples import (
    TwoGroups,
    check_options,
    complete_sets,
    groups_present,
    samples,
    set_differences,
    set_index,
    set_means,
)
from exparity.types import FloatArray, IntArray

NAN = float("nan")


@dataclass(frozen=True)
class GroupComparison:
    """Two groups compared on one metric; every difference is first group minus second.

    Attributes:
        group_a, group_b: first and second group.
        n_a, n_b: defined values of each.
        mean_a, mean_b: their means.
        sd_a, sd_b: their standard deviations.
        mean_difference: ``mean_a − mean_b``.
        U: Mann–Whitney U of the first group.
        p: its two-sided p-value.
        significant: p at most α.
        cohens_d: standardised mean difference.
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
    U: float = NAN
    p: float = NAN
    significant: bool = False
    cohens_d: float = NAN
    d_ci_low: float = NAN
    d_ci_high: float = NAN
    considerable: bool = False
    rank_biserial: float = NAN
    direction: int = 0
    n_pairs: int = 0
    wilcoxon_p: float = NAN
    d_z: float = NAN
    n_undefined: int = 0
    n_examples: int = 0
    flags: list[str] = field(default_factory=list)
    n_groups: int = 0
    omnibus: str = ""
    omnibus_statistic: float = NAN
    omnibus_p: float = NAN
    epsilon_squared: float = NAN
    n_sets: int = 0
    friedman_statistic: float = NAN
    friedman_p: float = NAN

    def _repr_html_(self) -> str:
        """Return how notebooks show it: a small table."""
        return notebook_html(Path(__file__).with_name("comparison.html.j2"), c=self)


@checked
def compare_groups(
    values: Sequence[float] | FloatArray,
    groups: Sequence[str],
    order: tuple[str, str] = ("male", "female"),
    pairs: Sequence[str | None] | None = None,
    *,
    alpha: float = Statistics.alpha,
    threshold: float = Statistics.threshold,
    ddof: int = Statistics.ddof,
    confidence: float = Statistics.confidence,
    resamples: int = Statistics.resamples,
) -> GroupComparison:
    """Compare a metric's values between two groups.

    Args:
        values: (n,) one value per example; NaN where undefined.
        groups: (n,) group of each example.
        order: first and second group; fixes the sign.
        pairs: (n,) matched set of each example, None (or NaN, as data frames have it) for
            examples without one; without any the paired statistics are NaN and the interval
            takes rows as independent.
        alpha: largest p-value that is significant.
        threshold: |d| from which an effect is considerable.
        ddof: degrees of freedom taken off in the variances of d.
        confidence: coverage of the interval of d.
        resamples: 0 leaves the interval of d out; other numbers make no difference to it.

    Returns:
        The comparison. Degenerate input (no or one value in a group, constant values) gives a row
        with flags and NaN where a number would mean nothing.

    Raises:
        InputError: lengths disagree, a value is infinite, a group is not one of ``order``, or an
            option is out of range.
    """
    check_options(
        alpha=alpha, threshold=threshold, ddof=ddof, confidence=confidence, resamples=resamples
    )
    scores, codes, names = samples(values, groups, order, pairs)
    if len(order) != 2:
        raise InputError(f"order must name two groups, not {shown(order)}")
    defined = ~np.isnan(scores)
    sets = set_index(names, defined)
    flags = ["undefined_values"] if not defined.all() else []
    n_examples, scores, codes = len(scores), scores[defined], codes[defined]
    a, b = scores[codes == 0], scores[codes == 1]
    base = _described(order, a, b, n_examples)
    if min(len(a), len(b)) < 2:
        return replace(base, flags=[*flags, "too_few"])
    u, p = map(float, mann_whitney(a, b))
    d = float(cohens_d(a, b, ddof=ddof))
    flags += ["constant"] if np.ptp(scores) == 0 else []
    flags += ["no_variance"] if np.isinf(d) else []
    paired = _paired(scores, codes, sets)
    n_sets = paired["n_pairs"] if "wilcoxon_p" in paired else 0
    if smallest_p(len(a), len(b), n_sets) > alpha and "constant" not in flags:
        flags.append("cannot_pass")
    interval: Interval = (NAN, NAN, ())
    if resamples and np.isfinite(d):
        interval = interval_of_d(scores, codes == 0, sets, ddof=ddof, confidence=confidence)
    low, high, how_found = interval
    return replace(
        base,
        U=u,
        p=p,
        significant=p <= alpha,
        cohens_d=d,
        d_ci_low=low,
        d_ci_high=high,
        considerable=abs(d) >= threshold,
        rank_biserial=rank_biserial(u, len(a), len(b)),
        flags=[*flags, *how_found],
        **paired,
    )


def compare_all(
    values: Sequence[float] | FloatArray,
    groups: Sequence[str],
    order: Sequence[str],
    pairs: Sequence[str | None] | None = None,
    **settings: Any,
) -> list[GroupComparison]:
    """Compare a metric's values between every two of several groups, and between all at once.

    Args:
        values: (n,) one value per example; NaN where undefined.
        groups: (n,) group of each example.
        order: two or more groups; the order fixes the signs.
        pairs: (n,) matched set of each example; see :func:`compare_groups`.
        **settings: options of :func:`compare_groups`.

    Returns:
        One comparison per pair of groups, in the order of ``order``. Each carries the tests over
        all groups, which are left empty for two: there they would say what ``p`` and
        ``wilcoxon_p`` say.

    Raises:
        InputError: as :func:`compare_groups`.
    """
    groups = list(groups)
    scores, codes, names = samples(values, groups, order, pairs)
    defined = ~np.isnan(scores)
    sets = set_index(names, defined)
    at_once = _compared_at_once(scores[defined], codes[defined], len(order), sets)
    comparisons = []
    for pair in combinations(order, 2):
        kept = [i for i, group in enumerate(groups) if group in pair]
        comparison = compare_groups(
            scores[kept],
            [groups[i] for i in kept],
            pair,
            None if names is None else [names[i] for i in kept],
            **settings,
        )
        comparisons.append(replace(comparison, **at_once))
    return comparisons


def _described(
    order: tuple[str, str], a: FloatArray, b: FloatArray, n_examples: int
) -> GroupComparison:
    """Return counts, means and standard deviations, which any defined values have."""
    (mean_a, sd_a), (mean_b, sd_b) = _mean_and_sd(a), _mean_and_sd(b)
    difference = mean_a - mean_b
    sizes, means, deviations = (len(a), len(b)), (mean_a, mean_b), (sd_a, sd_b)
    return GroupComparison(
        *order,
        *sizes,
        *means,
        *deviations,
        mean_difference=difference,
        direction=0 if np.isnan(difference) else int(np.sign(difference)),
        n_undefined=n_examples - len(a) - len(b),
        n_examples=n_examples,
        n_groups=sum(len(part) >= 2 for part in (a, b)),
    )


def _mean_and_sd(values: FloatArray) -> tuple[float, float]:
    if len(values) < 2:
        return (float(values[0]), NAN) if len(values) else (NAN, NAN)
    mean, variance = mean_and_variance(values)
    return float(mean), float(np.sqrt(variance))


def _paired(scores: FloatArray, codes: IntArray, sets: IntArray | None) -> dict[str, Any]:
    """Return the statistics of the differences within the matched sets that have both groups."""
    differences = set_differences(TwoGroups(scores, codes == 0, codes == 1, sets))
    if len(differences) < 2:
        return {"n_pairs": len(differences)}
    return {
        "n_pairs": len(differences),
        "wilcoxon_p": float(signed_rank(differences)),
        "d_z": d_z(differences) if differences.any() else NAN,
    }


def _compared_at_once(
    scores: FloatArray, codes: IntArray, groups: int, sets: IntArray | None
) -> dict[str, Any]:
    """Test whether any group differs; only the number of groups where they are fewer than three."""
    present = groups_present(codes, groups)
    if len(present) < 3:
        return {"n_groups": len(present)}
    h, p = map(float, kruskal_wallis([scores[codes == code] for code in present]))
    n = int(np.isin(codes, present).sum())
    n_sets, statistic, friedman_p = 0, NAN, NAN
    if sets is not None:
        means = set_means(scores, codes, sets, groups)[:, present]
        means = means[complete_sets(means)]
        n_sets = len(means)
        if n_sets >= 2:
            statistic, friedman_p = map(float, friedman(means))
    return {
        "n_groups": len(present),
        "omnibus": "kruskal_wallis",
        "omnibus_statistic": h,
        "omnibus_p": p,
        "epsilon_squared": h / (n - 1),
        "n_sets": n_sets,
        "friedman_statistic": statistic,
        "friedman_p": friedman_p,
    }
