"""Bootstrap intervals, which resample what was sampled: matched sets, or rows.

That of any statistic is scipy's. Every test has one of Cohen's d: it follows from sums over the
sets, so that resampling it needs no loop; the draws are scipy's, and so is the interval.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

from exparity.interface import BoolArray, FloatArray, IntArray
from exparity.stats.effect import standardised

# Resamples held at once; bounds memory at large n.
_BATCH = 200
# Values are scaled to a standard deviation of one: what is smaller than this is rounding.
_ROUNDING = 1e-12

_NORMAL = NormalDist()

Interval = tuple[float, float, tuple[str, ...]]
"""Low and high end, NaN where there is none, and flags that say how they were found."""
_NONE: Interval = (float("nan"), float("nan"), ("interval_none",))


def _first_defined(ends_by: Callable[[str], Sequence[float]]) -> Interval:
    """Return the bias-corrected and accelerated interval, or by percentiles where it is undefined.

    Args:
        ends_by: low and high end by ``BCa`` (Efron 1987), or by ``percentile``.
    """
    for method, flags in (("BCa", ()), ("percentile", ("interval_percentile",))):
        low, high = ends_by(method)
        if np.isfinite(low) and np.isfinite(high):
            return float(low), float(high), flags
    return _NONE


def interval_of(
    data: tuple[FloatArray, ...],
    statistic: Callable[..., Any],
    *,
    confidence: float,
    resamples: int,
    rng: np.random.Generator,
    paired: bool = False,
) -> Interval:
    """Bootstrap interval of any statistic.

    Args:
        data: the samples, of one or several.
        statistic: of the samples, along ``axis``.
        confidence: coverage, in (0, 1).
        resamples: number of resamples; 0 for no interval, and no flag.
        rng: source of the draws.
        paired: whether the samples are drawn together, element by element.
    """
    from scipy.stats import bootstrap

    if not resamples:
        return *_NONE[:2], ()
    if min(map(len, data)) < 2:
        return _NONE

    def ends_by(method: str) -> Sequence[float]:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # degenerate resamples; the ends are checked
            ends: Sequence[float] = bootstrap(
                data,
                statistic,
                n_resamples=resamples,
                batch=_BATCH,
                paired=paired,
                vectorized=True,
                confidence_level=confidence,
                method=method,
                rng=rng,
            ).confidence_interval
        return ends

    return _first_defined(ends_by)


def interval_of_d(
    values: FloatArray,
    is_first: BoolArray,
    clusters: Sequence[str] | IntArray | None,
    *,
    ddof: int,
    confidence: float,
    resamples: int,
    rng: np.random.Generator,
) -> Interval:
    """Bootstrap interval of Cohen's d.

    It follows Efron and Tibshirani (1993), equations 14.10, 14.14 and, for two samples, 15.36, as
    ``scipy.stats.bootstrap`` does, with the same draws.

    Args:
        values: (n,) finite scores.
        is_first: (n,) True for the first group.
        clusters: (n,) id of each value's matched set, which is resampled whole; None to resample
            rows within each group.
        ddof: see :func:`~exparity.stats.effect.cohens_d`.
        confidence: coverage, in (0, 1).
        resamples: number of resamples; 0 for no interval, and no flag.
        rng: source of the draws.
    """
    if not resamples:
        return *_NONE[:2], ()
    sums = cluster_sums(values, is_first, range(len(values)) if clusters is None else clusters)
    units = np.stack(sums, axis=-1)  # (m, 6)
    strata = [units] if clusters is not None else [units[is_first], units[~is_first]]
    if min(map(len, strata)) < 2:
        return _NONE
    starts = range(0, resamples, _BATCH)
    tail = (1 - confidence) / 2

    def ends_by(method: str) -> Sequence[float]:
        corrected = method == "BCa"
        levels = _corrected_levels(strata, drawn, ddof, tail) if corrected else (tail, 1 - tail)
        ends: Sequence[float] = _NONE[:2]
        if np.isfinite(levels).all():
            ends = np.quantile(drawn, levels).tolist()
        return ends

    with np.errstate(all="ignore"):  # degenerate resamples; the ends are checked
        sizes = [min(_BATCH, resamples - start) for start in starts]
        drawn = np.concatenate([_d_of_sums(_resampled(strata, n, rng), ddof) for n in sizes])
        return _first_defined(ends_by)


def cluster_sums(
    values: FloatArray, is_first: BoolArray, clusters: Sequence[str] | Sequence[int] | IntArray
) -> tuple[FloatArray, ...]:
    """Return, per matched set, count, sum and sum of squares of each group.

    Sets may hold any number of values of either group; d of a resample follows from these six
    numbers, so that resampling needs no loop.

    Returns:
        Six (m,) arrays: n, Σ, Σ² of the first group, then of the second. Values are centred and
        scaled first, which leaves d as it is and the squares free of cancellation.
    """
    spread = values.std()
    centred = (values - values.mean()) / (spread if spread > 0 else 1.0)
    _, index = np.unique(np.asarray(clusters), return_inverse=True)
    size = int(index.max()) + 1
    parts: list[FloatArray] = []
    for mask in (is_first, ~is_first):
        for power in (0, 1, 2):
            weights = centred[mask] ** power
            sums = np.bincount(index[mask], weights=weights, minlength=size)
            parts.append(sums.astype(np.float64))
    return tuple(parts)


def _resampled(strata: Sequence[FloatArray], size: int, rng: np.random.Generator) -> FloatArray:
    """Draw ``size`` resamples of every stratum: (size, 6) sums over what was drawn."""
    total = np.zeros((size, 6))
    for units in strata:
        m = len(units)
        drawn = rng.integers(0, m, (size, m))
        drawn += m * np.arange(size)[:, None]
        # How often each unit was drawn: a product of matrices adds them up much faster than
        # picking them one by one.
        times = np.bincount(drawn.ravel(), minlength=size * m).reshape(size, m)
        total += times.astype(np.float64) @ units
    return total


def _d_of_sums(sums: FloatArray, ddof: int) -> FloatArray:
    """Cohen's d from (..., 6) sums; not finite where it is undefined."""
    n_a, sum_a, square_a, n_b, sum_b, square_b = np.moveaxis(sums, -1, 0)
    mean_a, mean_b = sum_a / n_a, sum_b / n_b
    # Without this, the rounding errors of equal values would pass for a variance.
    mean_b = np.where(np.abs(mean_a - mean_b) < _ROUNDING, mean_a, mean_b)
    variances = [
        np.where(part < _ROUNDING * square, 0.0, part) / (n - ddof)
        for part, square, n in (
            (square_a - n_a * mean_a**2, square_a, n_a),
            (square_b - n_b * mean_b**2, square_b, n_b),
        )
    ]
    return standardised(mean_a, mean_b, *variances)


def _corrected_levels(
    strata: Sequence[FloatArray], drawn: FloatArray, ddof: int, tail: float
) -> tuple[float, float]:
    """Quantiles of the resamples at which the BCa interval ends; NaN where it is undefined."""
    whole = sum(units.sum(axis=0) for units in strata)
    d = float(_d_of_sums(np.asarray(whole), ddof))
    same = np.isclose(drawn, d, rtol=_ROUNDING, atol=_ROUNDING)
    below = float(((drawn < d) & ~same).mean() + same.mean() / 2)
    cubes = squares = 0.0
    for units in strata:
        m = len(units)
        left_out = _d_of_sums(whole - units, ddof)  # (m,)
        influence = (m - 1) * (left_out.mean() - left_out)
        cubes += float((influence**3).sum()) / m**3
        squares += float((influence**2).sum()) / m**2
    if not 0 < below < 1 or not 0 < squares < np.inf:
        return float("nan"), float("nan")
    acceleration = cubes / squares**1.5 / 6
    bias = _NORMAL.inv_cdf(below)

    def level(z: float) -> float:
        return _NORMAL.cdf(bias + (bias + z) / (1 - acceleration * (bias + z)))

    z = _NORMAL.inv_cdf(tail)
    return level(z), level(-z)
