"""The interval of Cohen's d: its jackknife over matched sets or rows, with quantiles of t.

It needs no random draws. Of the intervals compared by ``benchmarks/interval_coverage.py`` on
distributions of real scores it covers closest to what it says, and where skewness keeps it from
covering, none is shown.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exparity.stats.bootstrap import NO_INTERVAL, Interval
from exparity.stats.effect import standardised
from exparity.types import BoolArray, FloatArray, IntArray

FEWEST = 30
"""Rows or sets of a group below which no interval of d is shown."""
SKEWNESS_FACTOR = 25
"""Cochran's rule (1977, §2.15): a mean of n values is near normal where n > 25 × skewness²."""
# Values are scaled to a standard deviation of one: what is smaller than this is rounding.
_ROUNDING = 1e-12


def interval_of_d(
    values: FloatArray,
    is_first: BoolArray,
    clusters: IntArray | None,
    *,
    ddof: int,
    confidence: float,
) -> Interval:
    """Interval of Cohen's d, if it covers at about its confidence."""
    for mask in (is_first, ~is_first):
        units = int(mask.sum()) if clusters is None else len(np.unique(clusters[mask]))
        if not is_shown(values[mask], units):
            return NO_INTERVAL
    sums = cluster_sums(values, is_first, np.arange(len(values)) if clusters is None else clusters)
    strata = [sums] if clusters is not None else [sums[is_first], sums[~is_first]]
    low, high = ends_of(*d_without_each(strata, ddof=ddof), confidence=confidence)
    return (float(low), float(high), ()) if np.isfinite(low + high) else NO_INTERVAL


def is_shown(group: FloatArray, units: int) -> BoolArray:
    """Return whether a group is large enough for its skewness to have an interval of d."""
    centred = group - group.mean(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        skewness = (centred**3).mean(axis=-1) / (centred**2).mean(axis=-1) ** 1.5
    varies = np.ptp(group, axis=-1) > 0
    return np.asarray(varies & (units >= FEWEST) & (units > SKEWNESS_FACTOR * skewness**2))


def d_without_each(
    strata: Sequence[FloatArray], *, ddof: int
) -> tuple[FloatArray, list[FloatArray]]:
    """Return d, and d without each set.

    ``strata`` are the (..., m, 6) sums of :func:`cluster_sums`, one array for all matched sets, or
    one for the rows of each group.
    """
    total = np.asarray(sum(units.sum(axis=-2) for units in strata))
    with np.errstate(all="ignore"):  # degenerate samples; whoever uses it checks
        without = [_d_of_sums(total[..., None, :] - units, ddof) for units in strata]
        return _d_of_sums(total, ddof), without


def ends_of(
    estimate: FloatArray, without: Sequence[FloatArray], *, confidence: float
) -> tuple[FloatArray, FloatArray]:
    """Ends of a jackknife interval (Tukey 1958; Efron and Tibshirani 1993, chapter 11)."""
    from scipy.special import stdtrit

    variance = 0.0
    squares = 0.0
    with np.errstate(all="ignore"):  # degenerate samples; the ends are checked
        for left_out in without:
            m = left_out.shape[-1]
            deviations = left_out - left_out.mean(axis=-1, keepdims=True)
            part = (m - 1) / m * (deviations**2).sum(axis=-1)
            variance = variance + part
            squares = squares + part**2 / (m - 1)
        reach = stdtrit(variance**2 / squares, (1 + confidence) / 2) * np.sqrt(variance)
    return estimate - reach, estimate + reach


def cluster_sums(values: FloatArray, is_first: BoolArray, clusters: IntArray) -> FloatArray:
    """Return, per matched set (m, 6), count, sum and sum of squares of each group.

    Sets may hold any number of values of either group; d without a set follows from these six
    numbers, so that leaving each out needs no loop.
    """
    spread = values.std()
    centred = (values - values.mean()) / (spread if spread > 0 else 1.0)
    _, index = np.unique(clusters, return_inverse=True)
    size = int(index.max()) + 1
    columns = [
        np.bincount(index[mask], weights=centred[mask] ** power, minlength=size)
        for mask in (is_first, ~is_first)
        for power in (0, 1, 2)
    ]
    return np.stack(columns, axis=-1)


def _d_of_sums(sums: FloatArray, ddof: int) -> FloatArray:
    """Cohen's d from (..., 6) sums; not finite where it is undefined."""
    n_a, sum_a, square_a, n_b, sum_b, square_b = np.moveaxis(sums, -1, 0)
    mean_a = sum_a / n_a
    mean_b = sum_b / n_b
    variances = [
        # Without this, the rounding errors of equal values would pass for a variance.
        np.where(part < _ROUNDING * square, 0.0, part) / (n - ddof)
        for part, square, n in (
            (square_a - n_a * mean_a**2, square_a, n_a),
            (square_b - n_b * mean_b**2, square_b, n_b),
        )
    ]
    return standardised(mean_a, mean_b, *variances)
