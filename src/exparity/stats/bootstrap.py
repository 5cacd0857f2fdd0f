"""Bootstrap intervals of means, which resample what was sampled: matched sets, or rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from exparity.core.settings import DEFAULTS
from exparity.stats.permutations import batches
from exparity.types import FloatArray, IntArray

LARGE = 1_000
"""Units from which no resample is drawn, but the cumulants of their distribution are used."""
# Skewness of a statistic up to which two cumulants beside the variance describe it.
_MOST_SKEW = 0.5
# Resamples of one sample that are drawn before those of the next.
_BATCH = 200

Interval = tuple[float, float, tuple[str, ...]]
"""Low and high end, NaN where there is none, and flags that say how they were found."""
NO_INTERVAL: Interval = (np.nan, np.nan, ("interval_none",))


class Draws(NamedTuple):
    """Coverage of intervals, resamples (also permutations; 0 for none) and the seed of both."""

    confidence: float = DEFAULTS.confidence
    resamples: int = DEFAULTS.resamples
    seed: int = 0


class Mean(NamedTuple):
    """A mean over rows of resampled units: (m,) sums of each unit's rows, and their numbers."""

    sums: FloatArray
    counts: FloatArray

    @classmethod
    def over(cls, values: FloatArray, units: IntArray, n_units: int) -> Mean:
        """Return the mean of (n,) values; ``units`` names the unit of each."""
        sums = np.bincount(units, values, n_units).astype(np.float64)
        return cls(sums, np.bincount(units, minlength=n_units).astype(np.float64))


@dataclass(frozen=True, eq=False)
class Sample:
    """Units that are resampled together, and what they add to a statistic.

    Attributes:
        plus: its mean is added.
        minus: its mean over the same units is subtracted; None if there is none.
        sign: 1, or −1 for a sample that is subtracted as a whole.
    """

    plus: Mean
    minus: Mean | None = None
    sign: int = 1

    def __len__(self) -> int:
        return len(self.plus.sums)

    @property
    def parts(self) -> list[tuple[int, Mean]]:
        """The means of the sample, each with its sign."""
        others = [] if self.minus is None else [(-self.sign, self.minus)]
        return [(self.sign, self.plus), *others]

    def value(self) -> float:
        """Return what the sample adds to the statistic."""
        return float(sum(sign * mean.sums.sum() / mean.counts.sum() for sign, mean in self.parts))

    @np.errstate(invalid="ignore", divide="ignore")
    def without_each(self) -> FloatArray:
        """Return (m,) what it would add without each of its units."""
        return sum(
            (
                sign * (mean.sums.sum() - mean.sums) / (mean.counts.sum() - mean.counts)
                for sign, mean in self.parts
            ),
            np.zeros(len(self)),
        )

    @np.errstate(invalid="ignore", divide="ignore")
    def resampled(self, repeats: int, rng: np.random.Generator) -> FloatArray:
        """Return (repeats,) what resamples of its units add."""
        m = len(self)
        drawn = np.zeros(repeats)
        for batch in batches(repeats, 32 * m):
            units = rng.integers(0, m, (batch.stop - batch.start, m))
            for sign, mean in self.parts:
                drawn[batch] += sign * mean.sums[units].sum(1) / mean.counts[units].sum(1)
        return drawn


@np.errstate(invalid="ignore", divide="ignore")
def accelerated_interval(
    samples: Sequence[Sample], draws: Draws, rng: np.random.Generator
) -> Interval:
    """Return the bias-corrected and accelerated bootstrap interval (Efron 1987) of a sum of means.

    Where that is undefined its ends are percentiles.
    """
    from scipy.special import ndtr, ndtri

    if not draws.resamples:
        return *NO_INTERVAL[:2], ()
    if min(map(len, samples)) < 2:
        return NO_INTERVAL
    distribution = _distribution(samples, draws.resamples, rng)
    if not distribution.is_defined:
        return NO_INTERVAL
    tail = (1 - draws.confidence) / 2
    quantiles = ndtri(np.array([tail, 1 - tail]))
    bias = ndtri(distribution.share_below(sum(sample.value() for sample in samples)))
    moved = bias + quantiles
    levels = ndtr(bias + moved / (1 - _acceleration(samples) * moved))
    for shares, flags in ((levels, ()), (ndtr(quantiles), ("interval_percentile",))):
        low, high = distribution.quantiles(shares)
        if np.isfinite(low) and np.isfinite(high):
            return float(low), float(high), flags
    return NO_INTERVAL


def percentile_interval(
    samples: Sequence[Sample], draws: Draws, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the percentile bootstrap interval; NaN where nothing is drawn, or from one unit.

    Resamples in which the statistic is undefined are left out.
    """
    if not draws.resamples or min(map(len, samples)) < 2:
        return np.nan, np.nan
    tail = (1 - draws.confidence) / 2
    distribution = _distribution(samples, draws.resamples, rng)
    low, high = distribution.quantiles(np.array([tail, 1 - tail]))
    return float(low), float(high)


class _Drawn:
    """A distribution of draws; undefined ones are left out."""

    def __init__(self, draws: FloatArray) -> None:
        self._draws = draws[~np.isnan(draws)]
        self.is_defined = len(self._draws) == len(draws)

    def share_below(self, value: float) -> float:
        """Return the share of draws below a value; those equal to it count half."""
        return float((np.mean(self._draws < value) + np.mean(self._draws <= value)) / 2)

    def quantiles(self, shares: FloatArray) -> FloatArray:
        """Return quantiles; NaN where a share is."""
        if np.isnan(shares).any() or not len(self._draws):
            return np.full(shares.shape, np.nan)
        return np.asarray(np.quantile(self._draws, shares))


class _Expanded:
    """A distribution close to a normal one, with its first four cumulants.

    Edgeworth's series gives its distribution function, Cornish and Fisher's its quantiles.
    """

    is_defined = True

    def __init__(self, mean: float, deviation: float, skew: float, kurtosis: float) -> None:
        self._mean, self._deviation = mean, deviation
        self._skew, self._kurtosis = skew, kurtosis

    def share_below(self, value: float) -> float:
        """Return the probability of a smaller value."""
        from scipy.special import ndtr

        z = (value - self._mean) / self._deviation
        odd = self._skew / 6 * (z**2 - 1)
        even = self._kurtosis / 24 * (z**3 - 3 * z)
        even += self._skew**2 / 72 * (z**5 - 10 * z**3 + 15 * z)
        density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
        return float(ndtr(z) - density * (odd + even))

    def quantiles(self, shares: FloatArray) -> FloatArray:
        """Return quantiles; NaN where a share is."""
        from scipy.special import ndtri

        z = ndtri(shares)
        odd = self._skew / 6 * (z**2 - 1)
        even = self._kurtosis / 24 * (z**3 - 3 * z) - self._skew**2 / 36 * (2 * z**3 - 5 * z)
        return np.asarray(self._mean + self._deviation * (z + odd + even))


def _distribution(
    samples: Sequence[Sample], resamples: int, rng: np.random.Generator
) -> _Drawn | _Expanded:
    """Return the distribution of the statistic of resamples: its cumulants, or draws."""
    if min(map(len, samples)) >= LARGE:
        shift, *cumulants = np.sum([_cumulants(sample) for sample in samples], axis=0)
        variance, third, fourth = cumulants
        value = sum(sample.value() for sample in samples)
        if variance == 0:  # every resample has the same value
            return _Drawn(np.full(resamples, value))
        skew = third / variance**1.5
        if abs(skew) <= _MOST_SKEW:
            return _Expanded(value + shift, np.sqrt(variance), skew, fourth / variance**2)
    drawn = np.empty(resamples)
    for start in range(0, resamples, _BATCH):
        batch = slice(start, min(start + _BATCH, resamples))
        parts = [sample.resampled(batch.stop - start, rng) for sample in samples]
        drawn[batch] = np.sum(parts, axis=0)
    return _Drawn(drawn)


@np.errstate(invalid="ignore", divide="ignore")
def _cumulants(sample: Sample) -> tuple[float, float, float, float]:
    """Return shift, variance, third and fourth cumulant of what resamples add.

    A mean whose number of rows varies between resamples is expanded to its second term (Hall 1992,
    section 2.3); the fourth cumulant comes from its first.
    """
    m = len(sample)
    influences = []
    sizes = []
    for sign, mean in sample.parts:
        value = mean.sums.sum() / mean.counts.sum()
        influences.append(sign * (mean.sums - value * mean.counts) / mean.counts.mean())
        sizes.append(mean.counts / mean.counts.mean() - 1)
    total = np.sum(influences, axis=0)
    variance = float(np.mean(total**2))
    third = float(np.mean(total**3))
    fourth = float(np.mean(total**4)) - 3 * variance**2
    shift = 0.0
    for influence, size in zip(influences, sizes, strict=True):
        shift -= float(np.mean(influence * size))
        third -= 6 * float(np.mean(total * influence)) * float(np.mean(total * size))
    return shift / m, variance / m, third / m**2, fourth / m**3


@np.errstate(invalid="ignore", divide="ignore")
def _acceleration(samples: Sequence[Sample]) -> float:
    """Return the acceleration of Efron (1987), by the jackknife of each sample."""
    cubes = 0.0
    squares = 0.0
    for sample in samples:
        m = len(sample)
        without = sample.without_each()
        influence = (m - 1) * (without.mean() - without)
        cubes += float((influence**3).sum()) / m**3
        squares += float((influence**2).sum()) / m**2
    return float(np.divide(cubes, 6 * np.power(squares, 1.5)))


def central(drawn: FloatArray, confidence: float) -> tuple[float, float, float]:
    """Return the mean of draws, and the ends of their central part; NaN is left out."""
    drawn = drawn[~np.isnan(drawn)]
    if not len(drawn):
        return (np.nan,) * 3
    tail = (1 - confidence) / 2
    low, high = np.quantile(drawn, (tail, 1 - tail))
    return float(drawn.mean()), float(low), float(high)
