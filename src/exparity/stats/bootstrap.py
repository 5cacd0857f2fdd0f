"""Bootstrap intervals, as scipy's, which resample what was sampled: matched sets, or rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from exparity.core.settings import DEFAULTS
from exparity.types import FloatArray

# Resamples held at once; bounds memory at large n.
_BATCH = 200

Interval = tuple[float, float, tuple[str, ...]]
"""Low and high end, NaN where there is none, and flags that say how they were found."""
NO_INTERVAL: Interval = (np.nan, np.nan, ("interval_none",))


class Draws(NamedTuple):
    """Coverage of intervals, resamples (also permutations; 0 for none) and the seed of both."""

    confidence: float = DEFAULTS.confidence
    resamples: int = DEFAULTS.resamples
    seed: int = 0


def interval_of(
    data: tuple[FloatArray, ...],
    statistic: Callable[..., Any],
    draws: Draws,
    rng: np.random.Generator,
    *,
    paired: bool = False,
) -> Interval:
    """Bootstrap interval of any statistic: bias-corrected and accelerated (Efron 1987).

    Where that is undefined its ends are percentiles.
    """
    from scipy.stats import bootstrap

    if not draws.resamples:
        return *NO_INTERVAL[:2], ()
    if min(map(len, data)) < 2:
        return NO_INTERVAL

    for method, flags in (("BCa", ()), ("percentile", ("interval_percentile",))):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # degenerate resamples; the ends are checked
            low, high = bootstrap(
                data,
                statistic,
                n_resamples=draws.resamples,
                batch=_BATCH,
                paired=paired,
                vectorized=True,
                confidence_level=draws.confidence,
                method=method,
                rng=rng,
            ).confidence_interval
        if np.isfinite(low) and np.isfinite(high):
            return float(low), float(high), flags
    return NO_INTERVAL


def central(drawn: FloatArray, confidence: float) -> tuple[float, float, float]:
    """Return the mean of draws, and the ends of their central part; NaN is left out."""
    drawn = drawn[~np.isnan(drawn)]
    if not len(drawn):
        return (np.nan,) * 3
    tail = (1 - confidence) / 2
    low, high = np.quantile(drawn, (tail, 1 - tail))
    return float(drawn.mean()), float(low), float(high)
