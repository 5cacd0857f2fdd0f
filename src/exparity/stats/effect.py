"""Effect sizes of a difference between two groups, always first minus second."""

from __future__ import annotations

import numpy as np

from exparity.core.settings import DEFAULTS
from exparity.types import FloatArray


def standardised(
    mean_a: FloatArray, mean_b: FloatArray, variance_a: FloatArray, variance_b: FloatArray
) -> FloatArray:
    """Cohen's d from means and variances: difference over √((σ²_a + σ²_b)/2)."""
    difference = np.asarray(mean_a - mean_b, dtype=np.float64)
    spread = np.sqrt((np.maximum(variance_a, 0) + np.maximum(variance_b, 0)) / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(difference / spread, dtype=np.float64)


def cohens_d(a: FloatArray, b: FloatArray, *, ddof: int = DEFAULTS.ddof) -> FloatArray:
    """Cohen's d of two samples, with s = √((s²_a + s²_b)/2) (Cohen 1988, eq. 2.2.1 and 2.3.2)."""
    mean_a, variance_a = mean_and_variance(a, ddof=ddof)
    mean_b, variance_b = mean_and_variance(b, ddof=ddof)
    return standardised(mean_a, mean_b, variance_a, variance_b)


def mean_and_variance(
    sample: FloatArray, *, ddof: int = DEFAULTS.ddof
) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance, exact where all values are equal.

    The mean of ten times 0.1 is not 0.1 in floating point, so that a constant sample would have a
    tiny variance, and two constant groups a huge effect.
    """
    constant = np.ptp(sample, axis=-1) == 0
    first = sample[..., 0]
    with np.errstate(over="ignore"):
        mean = np.where(constant, first, sample.mean(axis=-1))
        variance = np.where(constant, 0.0, sample.var(axis=-1, ddof=ddof))
    return mean, variance


def rank_biserial(u: FloatArray, n_a: int, n_b: int) -> FloatArray:
    """Rank-biserial correlation 2U/(n_a n_b) − 1 (Wendt 1972)."""
    return 2 * u / (n_a * n_b) - 1


def d_z(differences: FloatArray) -> FloatArray:
    """Paired effect size: mean over standard deviation of the differences (Cohen 1988, §2.3.5)."""
    mean, variance = mean_and_variance(differences)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.divide(mean, np.sqrt(variance)))


def better_group(
    group_a: str, group_b: str, difference: float, direction: str | None
) -> str | None:
    """Return the group whose values are better, given first minus second; None if neither's are."""
    if direction is None or not (difference > 0 or difference < 0):
        return None
    return group_a if (difference > 0) == (direction == "higher") else group_b
