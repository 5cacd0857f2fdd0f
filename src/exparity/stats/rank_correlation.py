"""Spearman's rank correlation with an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from exparity.core.settings import DEFAULTS
from exparity.types import FloatArray

FEWEST = 10
"""Values below which no interval is shown."""


@dataclass(frozen=True)
class RankCorrelation:
    """Rank correlation of two quantities.

    Attributes:
        n: pairs of values that are both defined.
        correlation: Spearman's; NaN for fewer than three, or where either is constant.
        ci_low, ci_high: ends of its interval; NaN for fewer than :data:`FEWEST`.
    """

    n: int
    correlation: float = np.nan
    ci_low: float = np.nan
    ci_high: float = np.nan


def rank_correlation(
    x: Sequence[float] | FloatArray,
    y: Sequence[float] | FloatArray,
    *,
    confidence: float = DEFAULTS.confidence,
) -> RankCorrelation:
    """Correlate ranks; ties share their mean rank.

    The interval is Fisher's with the variance of Bonett and Wright (2000), (1 + r²/2)/(n − 3). It
    takes the pairs for independent.
    """
    from scipy.stats import rankdata

    pairs = np.array([x, y], dtype=np.float64).reshape(2, -1)
    pairs = pairs[:, ~np.isnan(pairs).any(axis=0)]
    n = pairs.shape[1]
    if n < 3 or (np.ptp(pairs, axis=1) == 0).any():
        return RankCorrelation(n)
    r = float(np.clip(np.corrcoef(rankdata(pairs, axis=1))[0, 1], -1.0, 1.0))
    if n < FEWEST or abs(r) == 1.0:
        return RankCorrelation(n, r)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    reach = z * math.sqrt((1 + r * r / 2) / (n - 3))
    return RankCorrelation(n, r, math.tanh(math.atanh(r) - reach), math.tanh(math.atanh(r) + reach))
