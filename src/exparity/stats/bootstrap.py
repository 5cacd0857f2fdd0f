"""Bootstrap interval of Cohen's d that resamples what was sampled: matched sets, or rows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from exparity.interface import BoolArray, FloatArray
from exparity.stats.effect import cohens_d, standardised

# Resamples held at once; bounds memory at large n.
_BATCH = 200


def interval_of_d(
    values: FloatArray,
    is_first: BoolArray,
    clusters: Sequence[str] | None,
    *,
    ddof: int,
    confidence: float,
    resamples: int,
    rng: np.random.Generator,
) -> tuple[float, float, str]:
    """Bias-corrected and accelerated interval (Efron 1987) of Cohen's d.

    Args:
        values: (n,) finite scores.
        is_first: (n,) True for the first group.
        clusters: (n,) id of each value's matched set, which is resampled whole; None to resample
            rows within each group.
        ddof: see :func:`~exparity.stats.effect.cohens_d`.
        confidence: coverage, in (0, 1).
        resamples: number of resamples.
        rng: source of the draws.

    Returns:
        Low and high end and how they were found: ``BCa``, ``percentile`` where BCa is undefined,
        or ``none`` (NaN ends) where both are.
    """
    from scipy.stats import bootstrap

    if clusters is None:
        data: tuple[FloatArray, ...] = (values[is_first], values[~is_first])
        paired = False

        def statistic(a: FloatArray, b: FloatArray, axis: int) -> Any:
            return cohens_d(a, b, ddof=ddof, axis=axis)
    else:
        data = cluster_sums(values, is_first, clusters)
        paired = True
        if len(data[0]) < 2:
            return float("nan"), float("nan"), "none"

        def statistic(*sums: FloatArray, axis: int) -> Any:  # type: ignore[misc]
            return _d_of_sums(*(part.sum(axis) for part in sums), ddof=ddof)

    for method in ("BCa", "percentile"):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # degenerate resamples; the ends are checked below
            found = bootstrap(
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
        if np.isfinite(found.low) and np.isfinite(found.high):
            return float(found.low), float(found.high), method
    return float("nan"), float("nan"), "none"


def cluster_sums(
    values: FloatArray, is_first: BoolArray, clusters: Sequence[str]
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


def _d_of_sums(
    n_a: FloatArray,
    sum_a: FloatArray,
    square_a: FloatArray,
    n_b: FloatArray,
    sum_b: FloatArray,
    square_b: FloatArray,
    *,
    ddof: int,
) -> Any:
    mean_a, mean_b = sum_a / n_a, sum_b / n_b
    variance_a = (square_a - n_a * mean_a**2) / (n_a - ddof)
    variance_b = (square_b - n_b * mean_b**2) / (n_b - ddof)
    return standardised(mean_a, mean_b, variance_a, variance_b)
