"""Tests of an estimate whose error comes from two samples: trainings and texts.

Each sample's part of the variance has degrees of freedom of its own, and the estimate is compared
with the sum of two independent t variables (Behrens 1929; Fisher 1935; Robinson 1976,
doi:10.1214/aos/1176343590, shows how well the test keeps its level). No rule for common degrees of
freedom keeps a corrected level if one sample is a handful of trainings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from exparity.types import FloatArray

_N_NODES = 64
NEVER = 1e-17  # probability of what lies beyond the range of an integral
_ZERO = 1e-300
_STEPS = 100
_PRECISION = 1e-10


class Nodes(NamedTuple):
    """Where an integral from −1 to 1 is evaluated, and the weight of each place."""

    places: FloatArray
    slopes: FloatArray


@cache
def nodes() -> Nodes:
    """Return the nodes of all integrals here; every start of a run would wait for them."""
    places, weights = np.polynomial.legendre.leggauss(_N_NODES)
    # Distances to the ends of an integral shrink as squares there, where it is steep.
    return Nodes((3 * places - places**3) / 2, weights * 1.5 * (1 - places**2))


class TwoErrors(NamedTuple):
    """The variance of an estimate from each of two samples, and how well each is known.

    Attributes:
        first, second: (...) variances; 0 where a sample adds nothing.
        first_dof, second_dof: (...) their degrees of freedom; of a variance of 0 they are not read.
    """

    first: FloatArray
    first_dof: FloatArray
    second: FloatArray
    second_dof: FloatArray

    @property
    def standard_error(self) -> FloatArray:
        """(...) of the estimate."""
        return np.asarray(np.sqrt(self.first + self.second))


@np.errstate(all="ignore")
def welch(
    parts: Sequence[tuple[FloatArray | float, FloatArray | float]],
) -> tuple[FloatArray, FloatArray]:
    """Return the sum of independent variances, and its degrees of freedom (Welch 1947)."""
    variance = np.sum([np.asarray(v) for v, _ in parts], axis=0)
    spread = np.sum([np.asarray(v**2 / dof) for v, dof in parts], axis=0)
    dof = np.sum([np.asarray(dof) for _, dof in parts], axis=0)
    return variance, np.where(spread > 0, variance**2 / spread, dof)


@np.errstate(all="ignore")
def upper_tail(x: FloatArray, errors: TwoErrors) -> FloatArray:
    """Return P(√first·t + √second·t′ ≥ x), with two independent t variables."""
    from scipy.special import stdtr, stdtrit

    x, first, first_dof, second, second_dof = np.broadcast_arrays(x, *errors)
    # The one with fewer degrees of freedom, whose tails are heavier, has a closed form inside.
    first_is_inner = (second <= 0) | ((first > 0) & (first_dof <= second_dof))
    inner = np.sqrt(np.where(first_is_inner, first, second))
    outer = np.sqrt(np.where(first_is_inner, second, first))
    inner_dof = np.where(first_is_inner, first_dof, second_dof)
    inner_dof = np.where(inner > 0, inner_dof, 1.0)
    dof = np.where(first_is_inner, second_dof, first_dof)
    dof = np.where(outer > 0, dof, 1.0)
    # The density of t = √ν·tan(θ) is that of cos(θ) to the power of ν − 1.
    reach = np.arctan(-stdtrit(dof, NEVER) / np.sqrt(dof))
    # It is divided where the inner variable would have to be zero.
    middle = np.clip(np.arctan(x / outer / np.sqrt(dof)), -reach, reach)
    middle = np.where(outer > 0, middle, 0.0)
    halves = np.stack([(middle + reach) / 2, (reach - middle) / 2], axis=-1)[..., None]
    centres = np.stack([(middle - reach) / 2, (middle + reach) / 2], axis=-1)[..., None]
    angles = (centres + halves * nodes().places).reshape(*x.shape, 2 * _N_NODES)
    weights = (halves * nodes().slopes).reshape(*x.shape, 2 * _N_NODES)
    weights = weights * np.exp((dof[..., None] - 1) * np.log(np.cos(angles)))
    weights /= weights.sum(axis=-1, keepdims=True)
    left = x[..., None]
    if outer.any():  # else the tail is the same at all places
        left = left - np.sqrt(dof)[..., None] * np.tan(angles) * outer[..., None]
    tails = stdtr(inner_dof[..., None], -left / inner[..., None])
    without_error = np.where(x < 0, 1.0, np.where(x > 0, 0.0, 0.5))
    return np.asarray(np.where(inner > 0, (weights * tails).sum(axis=-1), without_error))


def two_sided_p(estimate: FloatArray, errors: TwoErrors) -> FloatArray:
    """Return the p-value of "what is estimated is zero"."""
    p = np.minimum(1.0, 2 * upper_tail(np.abs(estimate), errors))
    return np.where(np.asarray(estimate) == 0, np.where(np.isnan(p), p, 1.0), p)


@np.errstate(all="ignore")
def critical_value(level: float, errors: TwoErrors) -> FloatArray:
    """Return the size from which an estimate is significant."""
    from scipy.special import ndtri, stdtrit

    shape = np.broadcast_shapes(*(np.shape(part) for part in errors))
    flat = TwoErrors(*(np.ravel(np.broadcast_to(part, shape)) for part in errors))
    size = np.full(len(flat.first), np.nan)
    is_finite = np.isfinite(flat.first + flat.second)
    some = TwoErrors(*(part[is_finite] for part in flat))

    def quantiles(tail: float) -> list[FloatArray]:
        """Return the quantiles of each t variable alone."""
        return [
            np.sqrt(v) * stdtrit(np.where(v > 0, dof, 1.0), 1 - tail)
            for v, dof in (some[:2], some[2:])
        ]

    # One t alone exceeds its share no more often than both; one of two, each at half the level.
    low = np.maximum(*quantiles(level / 2))
    high = np.add(*quantiles(level / 4))
    target = float(ndtri(level / 2))

    def excess(log_size: FloatArray) -> FloatArray:
        tail = upper_tail(np.exp(log_size), some)
        return np.asarray(ndtri(np.clip(tail, _ZERO, 0.5)) - target)

    spread = low > 0
    ends = (np.log(np.where(spread, end, 1.0)) for end in (low, high))
    size[is_finite] = np.where(spread, np.exp(root_between(excess, *ends)), 0.0)
    return size.reshape(shape)


def root_between(
    function: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray
) -> FloatArray:
    """Return where a monotone function is zero, by the Illinois rule (Dowell and Jarratt 1971).

    Each place is the one that is found alone, whatever is searched beside it.
    """
    at_low = function(low)
    at_high = function(high)
    scale = _PRECISION * np.maximum(1.0, np.maximum(np.abs(low), np.abs(high)))
    last: FloatArray = high
    side = np.zeros(len(low))
    is_found = np.zeros(len(low), dtype=bool)
    for _ in range(_STEPS):
        rise = at_high - at_low
        share = np.divide(-at_low, rise, out=np.full_like(rise, 0.5), where=rise != 0)
        point = np.where(is_found, last, low + share * (high - low))
        is_found |= np.abs(point - last) <= scale
        if is_found.all():
            return point
        last = point
        value = function(point)
        above = np.sign(value) == np.sign(at_high)
        # An end that is kept twice counts half, so that it gives way in the end.
        at_low = np.where(above & (side > 0), at_low / 2, at_low)
        at_high = np.where(~above & (side < 0), at_high / 2, at_high)
        low = np.where(above, low, point)
        at_low = np.where(above, at_low, value)
        high = np.where(above, point, high)
        at_high = np.where(above, value, at_high)
        side = np.where(above, 1.0, -1.0)
    return last
