"""Comparison of a metric between two groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from exparity.errors import InputError
from exparity.interface import BoolArray, FloatArray
from exparity.stats.bootstrap import interval_of_d
from exparity.stats.effect import cohens_d, d_z, mean_and_variance, rank_biserial

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
    _check_options(alpha, threshold, ddof, confidence, resamples)
    groups = list(groups)
    sets = None if pairs is None else [None if p is None or p != p else str(p) for p in pairs]
    scores, is_first = _checked(values, groups, order, sets)
    defined = ~np.isnan(scores)
    a, b = scores[defined & is_first], scores[defined & ~is_first]
    flags = ["undefined_values"] if not defined.all() else []
    mean_a, sd_a = _mean_and_sd(a)
    mean_b, sd_b = _mean_and_sd(b)
    difference = mean_a - mean_b
    base = {
        "group_a": order[0],
        "group_b": order[1],
        "n_a": len(a),
        "n_b": len(b),
        "mean_difference": difference,
        "direction": 0 if np.isnan(difference) else int(np.sign(difference)),
        "n_undefined": int((~defined).sum()),
        "n_examples": len(scores),
        "mean_a": mean_a,
        "mean_b": mean_b,
        "sd_a": sd_a,
        "sd_b": sd_b,
    }
    if min(len(a), len(b)) < 2:
        return GroupComparison(**base, flags=[*flags, "too_few"])  # type: ignore[arg-type]
    constant = np.ptp(np.concatenate([a, b])) == 0
    u, p = _mann_whitney(a, b)
    d = float(cohens_d(a, b, ddof=ddof))
    if constant:
        flags.append("constant")
    elif np.isinf(d):
        flags.append("no_variance")
    low = high = NAN
    clusters = _clusters(sets, defined)
    if resamples and np.isfinite(d):
        low, high, how = interval_of_d(
            scores[defined],
            is_first[defined],
            clusters,
            ddof=ddof,
            confidence=confidence,
            resamples=resamples,
            rng=np.random.default_rng(seed),
        )
        if how != "BCa":
            flags.append(f"interval_{how}")
    paired = {} if clusters is None else _paired(scores[defined], is_first[defined], clusters)
    return GroupComparison(
        **base,  # type: ignore[arg-type]
        U=u,
        p=p,
        significant=bool(p <= alpha),
        cohens_d=d,
        d_ci_low=low,
        d_ci_high=high,
        considerable=bool(abs(d) >= threshold),
        rank_biserial=rank_biserial(u, len(a), len(b)),
        flags=flags,
        **paired,  # type: ignore[arg-type]
    )


def _check_options(
    alpha: float, threshold: float, ddof: int, confidence: float, resamples: int
) -> None:
    for name, value, sound, range_ in (
        ("alpha", alpha, 0 < alpha < 1, "between 0 and 1"),
        ("confidence", confidence, 0 < confidence < 1, "between 0 and 1"),
        ("threshold", threshold, threshold >= 0, "0 or more"),
        ("ddof", ddof, ddof in (0, 1), "0 or 1"),
        ("resamples", resamples, resamples >= 0, "0 or more"),
    ):
        if not sound:
            raise InputError(f"statistics.{name} must be {range_}, not {value}")


def _checked(
    values: Sequence[float] | FloatArray,
    groups: Sequence[str],
    order: tuple[str, str],
    pairs: Sequence[str | None] | None,
) -> tuple[FloatArray, BoolArray]:
    scores = np.array(values, dtype=np.float64)
    if scores.ndim != 1:
        raise InputError(f"values must be one number per example; got shape {scores.shape}")
    for name, other in (("groups", groups), ("pairs", pairs)):
        if other is not None and len(other) != len(scores):
            raise InputError(f"{len(scores)} values but {len(other)} {name}")
    if np.isinf(scores).any():
        raise InputError(f"value {int(np.flatnonzero(np.isinf(scores))[0])} is infinite")
    if len(order) != 2 or order[0] == order[1]:
        raise InputError(f"order must name two groups, not {order!r}")
    strangers = set(groups) - set(order)
    if strangers:
        raise InputError(f"group '{min(map(str, strangers))}' is not one of {', '.join(order)}")
    return scores, np.array([g == order[0] for g in groups], dtype=bool)


def _mean_and_sd(values: FloatArray) -> tuple[float, float]:
    if len(values) < 2:
        return (float(values[0]), NAN) if len(values) else (NAN, NAN)
    mean, variance = mean_and_variance(values)
    return float(mean), float(np.sqrt(variance))


def _mann_whitney(a: FloatArray, b: FloatArray) -> tuple[float, float]:
    """Two-sided Mann–Whitney U of ``a`` and its p; 1 where all values are tied."""
    from scipy.stats import mannwhitneyu

    if np.ptp(np.concatenate([a, b])) == 0:
        return len(a) * len(b) / 2, 1.0
    found = mannwhitneyu(a, b, alternative="two-sided")
    return float(found.statistic), float(found.pvalue)


def _clusters(pairs: Sequence[str | None] | None, defined: BoolArray) -> list[str] | None:
    """Return the matched set of each defined value; a value without one is a set of its own."""
    if pairs is None or all(p is None for p in pairs):
        return None
    kept = np.flatnonzero(defined).tolist()
    return [f"row\x1f{i}" if pairs[i] is None else f"set\x1f{pairs[i]}" for i in kept]


def _paired(scores: FloatArray, is_first: BoolArray, clusters: list[str]) -> dict[str, float]:
    """Signed-rank test and d_z on the matched sets where both groups have a value."""
    from scipy.stats import wilcoxon

    members: dict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for score, first, cluster in zip(scores, is_first, clusters, strict=True):
        members[cluster][0 if first else 1].append(float(score))
    differences = np.array([np.mean(x) - np.mean(y) for x, y in members.values() if x and y])
    found: dict[str, float] = {"n_pairs": len(differences)}
    if len(differences) < 2:
        return found
    if not differences.any():
        return {**found, "wilcoxon_p": 1.0}
    p = float(wilcoxon(differences, method="auto").pvalue)
    return {**found, "wilcoxon_p": p, "d_z": d_z(differences)}
