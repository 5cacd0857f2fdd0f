"""Gaps between two groups at equal class or length of the texts.

An adjusted gap answers another question than the raw one and does not replace it. Class and
length are confounders if groups were sampled with different classes or lengths.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from exparity.core.settings import DEFAULTS
from exparity.stats.behrens_fisher import welch
from exparity.stats.samples import GroupedTexts, set_differences, set_index
from exparity.types import BoolArray, FloatArray, IntArray

# Relative to unit columns, or to the largest value: what is smaller is rounding.
_ROUNDING = 1e-9
_LEVERAGES = 0.9, 0.99  # of one value: from where it is flagged, and from where nothing is shown

ADJUSTMENTS = ("class", "length")
"""Covariates that gaps are adjusted for."""


@dataclass(frozen=True)
class AdjustedGap:
    """The difference of two groups' means that is left at equal class or length.

    Attributes:
        group_a, group_b: first and second group.
        adjustment: what is held equal, of :data:`ADJUSTMENTS`.
        estimate: first minus second group, in the metric's unit; NaN if it cannot be estimated.
        standard_error: its standard error.
        p: two-sided p-value of the t-test that it is zero.
        low, high: ends of its interval.
        flags: ``too_few`` values; ``not_estimable`` if group and covariate cannot be separated, as
            with label = group; ``no_variance`` if nothing varies around the fit;
            ``classes_left_out`` if a class has fewer than two values of a group; ``leverage`` if
            one value has a leverage above 0.9 (above 0.99 nothing is estimated, since HC3 cannot
            see the error of such a value); ``out_of_range`` if the gap would be larger than the
            metric allows, which is not shown.
    """

    group_a: str
    group_b: str
    adjustment: str
    estimate: float = np.nan
    standard_error: float = np.nan
    p: float = np.nan
    low: float = np.nan
    high: float = np.nan
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class AtEqualCovariates:
    """The adjusted gaps of two groups, in columns of the tests artefact; NaN where there is none.

    Attributes:
        class_adjusted_difference, length_adjusted_difference: estimates, as in
            :class:`AdjustedGap`.
        class_adjusted_p, length_adjusted_p: their p-values.
        class_adjusted_ci_low, length_adjusted_ci_low: lower ends of their intervals.
        class_adjusted_ci_high, length_adjusted_ci_high: upper ends.
        class_adjusted_flags, length_adjusted_flags: their flags.
    """

    class_adjusted_difference: float = np.nan
    class_adjusted_p: float = np.nan
    class_adjusted_ci_low: float = np.nan
    class_adjusted_ci_high: float = np.nan
    class_adjusted_flags: tuple[str, ...] = ()
    length_adjusted_difference: float = np.nan
    length_adjusted_p: float = np.nan
    length_adjusted_ci_low: float = np.nan
    length_adjusted_ci_high: float = np.nan
    length_adjusted_flags: tuple[str, ...] = ()

    @classmethod
    def of(cls, by_class: AdjustedGap, by_length: AdjustedGap) -> AtEqualCovariates:
        """Take the gaps of two groups at equal class and at equal length."""
        return cls(*_columns_of(by_class), *_columns_of(by_length))


def _columns_of(gap: AdjustedGap) -> tuple[float, float, float, float, tuple[str, ...]]:
    return gap.estimate, gap.p, gap.low, gap.high, gap.flags


class _Fit(NamedTuple):
    """An estimate, its variance and degrees of freedom, and flags."""

    estimate: float
    variance: float
    freedom: float
    flags: tuple[str, ...] = ()


def adjusted_gaps(
    values: FloatArray,
    texts: GroupedTexts,
    *,
    covariates: Mapping[str, FloatArray | IntArray],
    confidence: float = DEFAULTS.confidence,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> list[AdjustedGap]:
    """Estimate the gap between every two groups at equal class and length.

    With matched sets the differences within them are regressed on those of the covariate,
    D_i = α + γ′(z_ia − z_ib) + e_i, and α is the gap. Without sets it is the coefficient of the
    group in y ~ group + z, and for ``class`` the mean over classes of the gap within each.
    Regressions have the standard errors HC3 (MacKinnon and White 1985,
    doi:10.1016/0304-4076(85)90158-7), whose terms are summed by set where no set has both groups.

    Args:
        values: (n,) scores, NaN where undefined.
        texts: groups and matched sets of the n texts.
        covariates: (n,) class or length of each text, by the names in :data:`ADJUSTMENTS`.
        confidence: coverage of the intervals.
        bounds: least and largest score; no gap is larger than their distance.
    """
    columns = {name: _columns(name, covariate) for name, covariate in covariates.items()}
    gaps = []
    for group_a, group_b in combinations(texts.order, 2):
        in_first = texts.in_group(group_a)
        kept = ~np.isnan(values) & (in_first | texts.in_group(group_b))
        sets = set_index(texts.sets, kept)
        for name, others in columns.items():
            fit = _fitted(name, values[kept], in_first[kept], sets, others[kept])
            gap = AdjustedGap(group_a, group_b, name, flags=fit.flags)
            if abs(fit.estimate) > bounds[1] - bounds[0]:
                gap = replace(gap, flags=(*gap.flags, "out_of_range"))
            elif not np.isnan(fit.estimate):
                gap = _tested(gap, fit, np.abs(values[kept]).max(), confidence)
            gaps.append(gap)
    return gaps


def _columns(name: str, covariate: FloatArray | IntArray) -> FloatArray:
    """Return a covariate as (n, q) regressors; of a class, the indicators of all but the first."""
    if name != "class":
        return covariate[:, None].astype(np.float64)
    return np.asarray(covariate[:, None] == np.unique(covariate)[1:], dtype=np.float64)


def _fitted(
    name: str, values: FloatArray, is_first: BoolArray, sets: IntArray | None, others: FloatArray
) -> _Fit:
    """Estimate the gap from the defined values of two groups, and their (n, q) covariates."""
    if sets is None and name == "class":
        return _mean_within_classes(values, is_first, others)
    n = len(values)
    if sets is not None:  # differences within the sets that have both groups, of their means
        between = set_differences(np.vstack([values, others.T]), is_first, sets)  # (1 + q, m)
        m = between.shape[1]
        if m:
            return _regressed(name, between[0], np.ones(m), between[1:].T, np.arange(m))
    regressors = np.column_stack([np.ones(n), others])
    clusters = np.arange(n) if sets is None else sets
    return _regressed(name, values, is_first.astype(np.float64), regressors, clusters)


def _tested(gap: AdjustedGap, fit: _Fit, scale: float, confidence: float) -> AdjustedGap:
    """Add the t-test and the interval; neither, where nothing but rounding errors varies."""
    from scipy.special import stdtr, stdtrit

    estimate = fit.estimate if abs(fit.estimate) > _ROUNDING**1.5 * scale else 0.0
    error = float(np.sqrt(fit.variance))
    if not error > _ROUNDING * scale:
        flags = (*gap.flags, "no_variance")
        return replace(gap, estimate=estimate, standard_error=0.0, flags=flags)
    reach = float(stdtrit(fit.freedom, (1 + confidence) / 2)) * error
    return replace(
        gap,
        estimate=estimate,
        standard_error=error,
        p=float(2 * stdtr(fit.freedom, -abs(estimate) / error)),
        low=estimate - reach,
        high=estimate + reach,
    )


def _regressed(
    name: str, values: FloatArray, is_first: FloatArray, others: FloatArray, clusters: IntArray
) -> _Fit:
    """Estimate the coefficient of the group by least squares, with HC3 by cluster."""
    regressors = np.column_stack([is_first, others])
    lengths = np.linalg.norm(regressors, axis=0)
    basis = _basis(regressors / np.where(lengths > 0, lengths, 1.0))
    freedom = len(np.unique(clusters)) - basis.shape[1]
    if freedom < 1:
        return _Fit(np.nan, np.nan, np.nan, ("too_few",))
    lengths = lengths[1:]
    rest = _basis(others / np.where(lengths > 0, lengths, 1.0))
    # Frisch, Waugh and Lovell: what the others do not explain of the group has its coefficient.
    unexplained = is_first - rest @ (rest.T @ is_first)
    square = float(unexplained @ unexplained)
    if square <= _ROUNDING * float(is_first @ is_first):
        return _Fit(np.nan, np.nan, np.nan, ("not_estimable",))
    residuals = values - basis @ (basis.T @ values)
    free = 1 - (basis**2).sum(axis=1)  # 1 − leverage
    # The only one of its class fits itself alone; of a number, it sets the slope of all others.
    # Of one at the bound, rounding would decide, which differs with the order of rows.
    most = 0.0 if name == "class" else 1 - float(free.min()) - _ROUNDING
    flags = ("leverage",) if most > _LEVERAGES[0] else ()
    if most > _LEVERAGES[1]:
        return _Fit(np.nan, np.nan, np.nan, flags)
    # A value that the fit must pass through has no residual, and tells nothing of the spread.
    left_out = np.divide(residuals, free, out=np.zeros_like(residuals), where=free > _ROUNDING)
    terms = np.bincount(clusters, weights=unexplained * left_out)
    estimate = float(unexplained @ values) / square
    return _Fit(estimate, float(terms @ terms) / square**2, freedom, flags)


def _basis(columns: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the space of (n, q) columns of unit length: (n, rank)."""
    u, spreads, _ = np.linalg.svd(columns, full_matrices=False)
    kept = spreads > _ROUNDING
    return np.asarray(u[:, kept])


def _mean_within_classes(values: FloatArray, is_first: BoolArray, others: FloatArray) -> _Fit:
    """Return the mean over classes of the gap in each, with the variance of Welch's test."""
    classes = others @ np.arange(1, others.shape[1] + 1)
    gaps = []
    variances = []
    present = np.unique(classes)
    for name in present:
        parts = [values[(classes == name) & mask] for mask in (is_first, ~is_first)]
        if min(map(len, parts)) < 2:
            continue
        gaps.append(parts[0].mean() - parts[1].mean())
        variances += [(part.var(ddof=1) / len(part), len(part) - 1) for part in parts]
    if not gaps:
        return _Fit(np.nan, np.nan, np.nan, ("not_estimable" if len(values) > 1 else "too_few",))
    flags = ("classes_left_out",) if len(gaps) < len(present) else ()
    total, freedom = map(float, welch(variances))
    return _Fit(float(np.mean(gaps)), total / len(gaps) ** 2, freedom, flags)
