"""Comparison of a metric between groups: two of them, or all pairs of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations

import numpy as np

from exparity.core.calls import checked, shown
from exparity.core.errors import InputError
from exparity.core.seeding import derive_seed
from exparity.interface import FloatArray, IntArray
from exparity.stats.bootstrap import interval_of_d
from exparity.stats.checks import check_options, samples
from exparity.stats.effect import cohens_d, d_z, mean_and_variance, rank_biserial
from exparity.stats.omnibus import compare_at_once
from exparity.stats.rank_tests import mann_whitney, signed_rank
from exparity.stats.sets import complete, set_index, set_means

NAN = float("nan")


@dataclass(frozen=True)
class GroupComparison:
    """Two groups compared on one metric; every difference is first group minus second.

    Attributes:
        group_a: first group.
        group_b: second group.
        n_a: defined values of the first group.
        n_b: defined values of the second group.
        mean_a: mean of the first group.
        mean_b: mean of the second group.
        sd_a: standard deviation of the first group.
        sd_b: standard deviation of the second group.
        mean_difference: ``mean_a − mean_b``.
        U: Mann–Whitney U of the first group.
        p: its two-sided p-value.
        significant: p at most α.
        cohens_d: standardised mean difference.
        d_ci_low: lower end of its bootstrap interval.
        d_ci_high: upper end of its bootstrap interval.
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
        epsilon_squared: its effect size, in [0, 1].
        n_sets: matched sets with a defined value of every group; 0 for fewer than three groups.
        friedman_statistic: the Friedman test's statistic on these sets.
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
        from exparity.stats._html import comparison_html

        return comparison_html(self)


@checked
def compare_groups(
    values: Sequence[float] | FloatArray,
    groups: Sequence[str],
    order: tuple[str, str] = ("male", "female"),
    pairs: Sequence[str | None] | None = None,
    *,
    alpha: float = 0.05,
    threshold: float = 0.2,
    ddof: int = 1,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> GroupComparison:
    """Compare a metric's values between two groups.

    Args:
        values: (n,) one value per example; NaN where undefined.
        groups: (n,) group of each example.
        order: first and second group; fixes the sign.
        pairs: (n,) matched set of each example, None (or NaN, as data frames have it) for
            examples without one; without any the paired statistics are NaN and the bootstrap
            resamples rows.
        alpha: largest p-value that is significant.
        threshold: |d| from which an effect is considerable.
        ddof: degrees of freedom taken off in the variances of d.
        confidence: coverage of the interval of d.
        resamples: bootstrap resamples; 0 leaves the interval out.
        seed: seed of the bootstrap.

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
    codes = codes[defined]
    flags = ["undefined_values"] if not defined.all() else []
    base = _described(order, scores, scores[defined], codes)
    a, b = (scores[defined][codes == code] for code in (0, 1))
    if min(len(a), len(b)) < 2:
        return replace(base, flags=[*flags, "too_few"])
    u, p = map(float, mann_whitney(a, b))
    d = float(cohens_d(a, b, ddof=ddof))
    if np.ptp(scores[defined]) == 0:
        flags.append("constant")
    elif np.isinf(d):
        flags.append("no_variance")
    low = high = NAN
    if resamples and np.isfinite(d):
        low, high, how_found = interval_of_d(
            scores[defined],
            codes == 0,
            sets,
            ddof=ddof,
            confidence=confidence,
            resamples=resamples,
            rng=np.random.default_rng(seed),
        )
        flags += how_found
    n_pairs, wilcoxon_p, effect = _paired(scores[defined], codes, sets)
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
        n_pairs=n_pairs,
        wilcoxon_p=wilcoxon_p,
        d_z=effect,
        flags=flags,
    )


@checked
def compare_all(
    values: Sequence[float] | FloatArray,
    groups: Sequence[str],
    order: Sequence[str],
    pairs: Sequence[str | None] | None = None,
    *,
    alpha: float = 0.05,
    threshold: float = 0.2,
    ddof: int = 1,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> list[GroupComparison]:
    """Compare a metric's values between every two of several groups, and between all at once.

    Args:
        values: (n,) one value per example; NaN where undefined.
        groups: (n,) group of each example.
        order: two or more groups; the order fixes the signs.
        pairs: (n,) matched set of each example; see :func:`compare_groups`, also for the options.
        alpha: largest p-value that is significant.
        threshold: |d| from which an effect is considerable.
        ddof: degrees of freedom taken off in the variances of d.
        confidence: coverage of the interval of d.
        resamples: bootstrap resamples; 0 leaves the interval out.
        seed: seed that every pair's bootstrap derives its own from.

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
    at_once = asdict(
        compare_at_once(scores[defined], codes[defined], len(order), set_index(names, defined))
    )
    comparisons = []
    for first, second in combinations(order, 2):
        kept = [i for i, group in enumerate(groups) if group in (first, second)]
        pair = compare_groups(
            scores[kept],
            [groups[i] for i in kept],
            (first, second),
            None if names is None else [names[i] for i in kept],
            alpha=alpha,
            threshold=threshold,
            ddof=ddof,
            confidence=confidence,
            resamples=resamples,
            seed=derive_seed(seed, first, second),
        )
        comparisons.append(replace(pair, **at_once))
    return comparisons


def _described(
    order: tuple[str, str], scores: FloatArray, defined: FloatArray, codes: IntArray
) -> GroupComparison:
    """Return what can be said of any values: counts, means, standard deviations."""
    a, b = defined[codes == 0], defined[codes == 1]
    (mean_a, sd_a), (mean_b, sd_b) = _mean_and_sd(a), _mean_and_sd(b)
    difference = mean_a - mean_b
    return GroupComparison(
        group_a=order[0],
        group_b=order[1],
        n_a=len(a),
        n_b=len(b),
        mean_a=mean_a,
        mean_b=mean_b,
        sd_a=sd_a,
        sd_b=sd_b,
        mean_difference=difference,
        direction=0 if np.isnan(difference) else int(np.sign(difference)),
        n_undefined=len(scores) - len(defined),
        n_examples=len(scores),
        n_groups=sum(len(part) >= 2 for part in (a, b)),
    )


def _mean_and_sd(values: FloatArray) -> tuple[float, float]:
    if len(values) < 2:
        return (float(values[0]), NAN) if len(values) else (NAN, NAN)
    mean, variance = mean_and_variance(values)
    return float(mean), float(np.sqrt(variance))


def _paired(scores: FloatArray, codes: IntArray, sets: IntArray | None) -> tuple[int, float, float]:
    """Number of matched sets with both groups; signed-rank p and d_z of their differences."""
    if sets is None:
        return 0, NAN, NAN
    means = set_means(scores, codes, sets, 2)
    means = means[complete(means)]
    differences = means[:, 0] - means[:, 1]
    n = len(differences)
    if n < 2:
        return n, NAN, NAN
    effect = d_z(differences) if differences.any() else NAN
    return n, float(signed_rank(differences)), effect
