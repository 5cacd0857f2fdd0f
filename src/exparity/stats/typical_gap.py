"""The typical gap of one training, whichever group it favours.

The gap γ of a training over all texts varies between trainings with mean μ and standard deviation
τ. The mean shows whether all trainings favour the same group. R = √(μ² + τ²), the root mean square
gap of a training, shows how unequally a classifier of this kind treats groups. A claim about R
needs few trainings and one about μ many: three gaps of one standard deviation do not come from
trainings whose gaps are typically small, although their mean may be anything.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from exparity.stats.behrens_fisher import (
    NEVER,
    critical_value,
    nodes,
    root_between,
    two_sided_p,
)
from exparity.stats.mean_gap import Estimate
from exparity.types import BoolArray, FloatArray, IntArray

_COARSE = np.arange(0, 91, 5)  # degrees
_FINE = np.arange(-4, 5)  # degrees about the best of these
_FAR = 8.5  # a normal variable lies beyond it with that probability
_AT_ONCE = 128  # cells; their integrals then fit into a processor's cache
_ALTERNATIONS = 20
_WIDENINGS = 12


class _Cells(NamedTuple):
    """(n, 1) total that the statistic Q is compared with, and the parts of Q."""

    total: FloatArray  # T
    v_cell: FloatArray  # variance of a training's gap from its single cells
    v_texts: FloatArray  # B, from the texts that trainings share
    n_seeds: FloatArray  # S
    dof: FloatArray  # ν of V_I

    def at(self, chosen: BoolArray | IntArray) -> _Cells:
        return _Cells(*(part[chosen] for part in self))


class TypicalGap:
    """Claims about the gaps of trainings, an array of the estimate's shape each.

    p-values are of the hypothesis that is named: the smaller, the better it is refuted. Everything
    is NaN where the gap, V_I or S is not finite.

    Attributes:
        rms: R, the root mean square gap of a training, in the unit of the gap; 0 where noise
            explains all there is.
        tau: standard deviation of the gap between trainings.
        p_seeds: p-value of "trainings do not differ", a description and no finding.
    """

    @np.errstate(all="ignore")
    def __init__(self, estimate: Estimate) -> None:
        from scipy.special import fdtrc

        self._estimate = estimate
        columns = (np.asarray(part, dtype=np.float64) for part in estimate[:6])
        gap, v_seeds, v_texts, v_cells, n_seeds, dof = np.broadcast_arrays(*columns)
        v_seeds = np.nan_to_num(v_seeds)
        v_cells = np.nan_to_num(v_cells)
        self._known = np.isfinite([gap, v_texts, n_seeds]).all(axis=0)
        total = n_seeds * gap**2 + n_seeds * (n_seeds - 1) * v_seeds
        v_texts_alone = np.maximum(v_texts - v_cells, 0.0)
        dof = np.where(dof > 0, dof, 1.0)
        parts = total, n_seeds * v_cells, v_texts_alone, n_seeds, dof
        self._cells = _Cells(*(part.reshape(-1, 1) for part in parts))
        square = gap**2 + (n_seeds - 1) * (v_seeds - v_cells) - v_texts_alone
        between = n_seeds * (v_seeds - v_cells)
        self.rms = np.where(self._known, np.sqrt(np.maximum(square, 0.0)), np.nan)
        self.tau = np.where(self._known, np.sqrt(np.maximum(between, 0.0)), np.nan)
        p_seeds = fdtrc(n_seeds - 1, (n_seeds - 1) * dof, v_seeds / v_cells)
        self.p_seeds = np.where(self._known & (n_seeds > 1), p_seeds, np.nan)

    @property
    def p_mean(self) -> FloatArray:
        """Two-sided p-value of "the mean gap is zero"."""
        return np.where(self._known, two_sided_p(self._estimate.gap, self._estimate.errors), np.nan)

    def p_large(self, threshold: FloatArray | float) -> FloatArray:
        """Return the p-value of "R is at most the threshold".

        The size found in one training is that of all only if the others are like it.
        """
        return self._judged(threshold, lambda cells, rms: _largest(cells, rms, upper=True)[0])

    def p_small(self, threshold: FloatArray | float) -> FloatArray:
        """Return the p-value of "R is at least the threshold"."""
        return self._judged(
            threshold,
            lambda cells, rms: np.where(rms > 0, _largest(cells, rms, upper=False)[0], 1.0),
        )

    def p_large_others(self, threshold: FloatArray | float) -> FloatArray:
        """Return ``p_large`` without the training of the largest gap; 1 of a single training."""
        largest = np.abs(self._estimate.gaps).max(axis=-1).reshape(-1, 1)
        rest = np.maximum(self._cells.total - largest**2, 0.0)
        others = self._cells._replace(total=rest, n_seeds=self._cells.n_seeds - 1)

        def p_large(cells: _Cells, rms: FloatArray) -> FloatArray:
            return np.where(cells.n_seeds[:, 0] > 0, _largest(cells, rms, upper=True)[0], 1.0)

        return self._judged(threshold, p_large, others)

    def mean_interval(self, confidence: float) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the interval of the mean gap."""
        gap = np.where(self._known, self._estimate.gap, np.nan)
        half = critical_value(1 - confidence, self._estimate.errors)
        return gap - half, gap + half

    def interval(
        self, confidence: float, near: FloatArray | float
    ) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the interval of R, which are searched from an R that is ``near``."""
        end = partial(_end, level=(1 - confidence) / 2)
        low = self._judged(near, partial(end, upper=True))
        high = self._judged(near, partial(end, upper=False))
        return low, high

    @np.errstate(all="ignore")
    def _judged(
        self,
        threshold: FloatArray | float,
        function: Callable[[_Cells, FloatArray], FloatArray],
        cells: _Cells | None = None,
    ) -> FloatArray:
        """Apply a function to the cells that are known and their thresholds, some at once."""
        cells = self._cells if cells is None else cells
        rms = np.broadcast_to(np.asarray(threshold, dtype=np.float64), self._known.shape).ravel()
        places = np.flatnonzero(self._known.ravel() & np.isfinite(rms))
        values = np.full(len(rms), np.nan)
        for start in range(0, len(places), _AT_ONCE):
            some = places[start : start + _AT_ONCE]
            values[some] = function(cells.at(some), rms[some])
        return values.reshape(self._known.shape)


def typical_gap(estimate: Estimate) -> TypicalGap:
    """Judge the mean gap and the typical gap of one training, of many cells at once.

    T = S·D̄² + S(S − 1)·V_S, the sum of the trainings' squared gaps, is compared with
    Q = (v + S·B)(Z + λ)² + v·χ²_{S−1}, where v = τ² + S·V_E, B = max(V_I − V_E, 0) and
    λ = μ/√(v/S + B). Of all μ and τ whose R is the threshold, in steps of one degree of the angle
    between them, the one counts for which Q is most often beyond T. Z is normal, for ``p_large`` a
    t variable with the degrees of freedom of V_I. V_S and V_E count as 0 where they are NaN. See
    ``docs/statistics.md``.
    """
    return TypicalGap(estimate)


def _beyond(cells: _Cells, rms: FloatArray, angle: FloatArray, *, upper: bool) -> FloatArray:
    """Return the probability that Q is at least T (``upper``) or at most, (n, k) for k angles."""
    from scipy.special import gammainc, gammaincc, gammaln, stdtr, stdtrit

    total, v_cell, v_texts, n_seeds, dof = cells
    v = (rms * np.sin(angle)) ** 2 + v_cell
    edge = np.sqrt(total)
    centre = np.sqrt(n_seeds) * rms * np.cos(angle)
    spread = np.maximum(np.sqrt(v + n_seeds * v_texts), 1e-12 * (edge + centre) + 1e-300)
    low = (-edge - centre) / spread
    high = (edge - centre) / spread
    if upper:
        root = np.sqrt(dof)
        outside = stdtr(dof, low) + stdtr(dof, -high)
        far = np.arctan(-stdtrit(dof, NEVER) / root)
        ends = np.clip(np.arctan(low / root), -far, far), np.clip(np.arctan(high / root), -far, far)
        place, width = _places(*ends)
        z = root[..., None] * np.tan(place)
        log_constant = gammaln((dof + 1) / 2) - gammaln(dof / 2) - np.log(np.pi) / 2
        density = np.exp(log_constant[..., None] + (dof - 1)[..., None] * np.log(np.cos(place)))
    else:
        outside = np.zeros(())
        z, width = _places(np.clip(low, -_FAR, _FAR), np.clip(high, -_FAR, _FAR))
        density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    square = (spread[..., None] * z + centre[..., None]) ** 2
    rest = np.maximum(total[..., None] - square, 1e-300) / np.maximum(v, 1e-300)[..., None]
    chi_square = (gammaincc if upper else gammainc)((n_seeds[..., None] - 1) / 2, rest / 2)
    inside = (chi_square * density * nodes().slopes).sum(axis=-1) * width
    return np.asarray(np.clip(outside + inside, 0.0, 1.0))


def _places(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return where an integral between two ends is evaluated, (..., nodes), and half its width."""
    middle = (low + high) / 2
    half = (high - low) / 2
    return middle[..., None] + half[..., None] * nodes().places, half


def _largest(cells: _Cells, rms: FloatArray, *, upper: bool) -> tuple[FloatArray, FloatArray]:
    """Return the largest probability over all whole degrees, and its angle: (n,) each."""
    degrees = np.broadcast_to(_COARSE, (len(rms), len(_COARSE)))
    p = _beyond(cells, rms[:, None], np.deg2rad(degrees), upper=upper)
    fine = np.clip(_COARSE[p.argmax(axis=1), None] + _FINE, 0, 90)
    p = np.hstack([p, _beyond(cells, rms[:, None], np.deg2rad(fine), upper=upper)])
    row = np.arange(len(p))
    best = p.argmax(axis=1)
    nothing = cells.total[:, 0] <= 0
    angle = np.deg2rad(np.hstack([degrees, fine])[row, best])
    return np.where(nothing, 1.0 if upper else 0.0, p[row, best]), angle


def _end(cells: _Cells, near: FloatArray, level: float, *, upper: bool) -> FloatArray:
    """Return the R below (``upper``) or above which the p-value is at most a level.

    At every angle the probability is monotone in R, so that the end is the most extreme one of all
    angles: R is solved for one angle, and the angle looked for at that R, until it stays. The first
    is that of the largest probability at the R that is ``near``.
    """
    total = cells.total[:, 0]
    scale = np.sqrt(total) + np.sqrt(cells.v_cell + cells.n_seeds * cells.v_texts)[:, 0]
    end = np.zeros(len(total))
    nowhere = np.zeros((len(total), 1))  # where R is zero, no angle differs from another
    at_zero = _beyond(cells, nowhere, nowhere, upper=upper)[:, 0]
    is_sought = (at_zero <= level) if upper else (at_zero > level)
    places = np.flatnonzero(is_sought & (total > 0) & (scale > 0))
    if not len(places):
        return end
    _, angles = _largest(cells.at(places), near[places], upper=upper)
    for _ in range(_ALTERNATIONS):
        some = cells.at(places)
        end[places] = _end_at(angles, some, scale[places], level, upper=upper)
        p, angles = _largest(some, end[places], upper=upper)
        is_open = ~(np.abs(p / level - 1) <= 1e-6)
        places = places[is_open]
        angles = angles[is_open]
        if not len(places):
            break
    return end


def _end_at(
    angles: FloatArray, cells: _Cells, scale: FloatArray, level: float, *, upper: bool
) -> FloatArray:
    """Return the R at which the probability at an angle is a level, searched from a scale of R."""
    sign = 1 if upper else -1
    level_score = _score(level)

    def beyond(log_rms: FloatArray) -> FloatArray:
        p = _beyond(cells, np.exp(log_rms)[:, None], angles[:, None], upper=upper)[:, 0]
        return _score(p) - level_score

    high = np.log(scale)
    for _ in range(_WIDENINGS):
        is_short = sign * beyond(high) < 0
        if not is_short.any():
            break
        high = np.where(is_short, high + np.log(4), high)
    return np.exp(root_between(beyond, np.log(1e-9 * scale), high))


def _score(p: FloatArray | float) -> FloatArray:
    from scipy.special import ndtri

    return np.asarray(ndtri(np.clip(p, 1e-300, 1 - 1e-16)))


@np.errstate(all="ignore")
def findable_gaps(
    n_seeds: FloatArray,
    v_texts: float,
    dof: float,
    *,
    threshold: float,
    alpha: float,
    power: float,
) -> tuple[FloatArray, FloatArray]:
    """Return the R that are found to be above the threshold, and those found to be below: (s,).

    Trainings have no mean gap, and single cells add nothing. The guard is left out.
    """
    bound = np.full(len(n_seeds), threshold)
    no_mean_gap = np.full((len(n_seeds), 1), np.pi / 2)

    def cells(log_total: FloatArray) -> _Cells:
        parts = np.broadcast_arrays(np.exp(log_total), 0.0, v_texts, n_seeds, dof)
        return _Cells(*(part[:, None] for part in parts))

    def findable(chance: float, *, upper: bool) -> FloatArray:
        def too_likely(log_total: FloatArray) -> FloatArray:
            return _score(_largest(cells(log_total), bound, upper=upper)[0]) - _score(alpha)

        scale = np.log(n_seeds * (threshold**2 + v_texts))
        critical = cells(root_between(too_likely, scale - 30, scale + 15))

        def too_often(log_rms: FloatArray) -> FloatArray:
            p = _beyond(critical, np.exp(log_rms)[:, None], no_mean_gap, upper=False)[:, 0]
            return _score(p) - _score(chance)

        least = np.log(bound) - 15
        most = np.log(bound) + 15
        rms = np.exp(root_between(too_often, least, most))
        return np.where(too_often(least) > 0, rms, np.nan)

    return findable(1 - power, upper=True), findable(power, upper=False)
