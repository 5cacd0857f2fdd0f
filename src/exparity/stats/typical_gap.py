"""The typical gap of one training: is it considerable, or is it not, whichever group it favours?

The gap γ of a training over all texts varies between trainings with mean μ and standard deviation
τ. The mean says whether the same group is favoured again and again. R = √(μ² + τ²), the root mean
square gap of a training, says how unequally a classifier of this kind treats groups. A claim about
the size of R needs few trainings, where one about μ needs many: three gaps of one standard
deviation do not come from trainings whose gaps are typically small, though their mean may be
anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from exparity.core.settings import Statistics
from exparity.stats.behrens_fisher import (
    NEVER,
    PLACES,
    SLOPES,
    TwoErrors,
    critical_value,
    two_sided_p,
)
from exparity.stats.roots import root_between
from exparity.types import BoolArray, FloatArray, IntArray

NAN = float("nan")
_COARSE, _FINE = np.arange(0, 91, 5), np.arange(-4, 5)  # degrees, the fine ones about the best
_FAR = 8.5  # a normal variable lies beyond it with that probability
_AT_ONCE = 128  # cells; their integrals then fit into a processor's cache
_ALTERNATIONS = 20
_WIDENINGS = 12


class TypicalGap(NamedTuple):
    """Claims about the gaps of trainings, each (n,), one for each cell.

    Gaps are in the unit of the estimate. p-values are of the claim that is named: the smaller, the
    better it is supported.

    Attributes:
        p_mean: two-sided p-value of "the mean gap is zero".
        mean_low, mean_high: ends of the interval of the mean gap.
        rms_gap: R, the root mean square gap of a training; 0 where noise explains all there is.
        rms_low, rms_high: ends of its interval.
        p_large: p-value of "R is at most the threshold".
        p_small: p-value of "R is at least the threshold".
        p_large_others: ``p_large`` without the training that has the largest gap; NaN if that is
            not said.
        tau: standard deviation of the gap between trainings.
        p_seeds: p-value of "trainings do not differ", a description and no finding.
    """

    p_mean: FloatArray
    mean_low: FloatArray
    mean_high: FloatArray
    rms_gap: FloatArray
    rms_low: FloatArray
    rms_high: FloatArray
    p_large: FloatArray
    p_small: FloatArray
    p_large_others: FloatArray
    tau: FloatArray
    p_seeds: FloatArray


def two_errors(
    v_seeds: FloatArray,
    v_texts: FloatArray,
    v_cells: FloatArray,
    n_seeds: FloatArray | IntArray,
    dof_texts: FloatArray,
) -> TwoErrors:
    """Return the variances of a mean gap from trainings and from texts.

    Single cells are in the mean squares of both, and are counted once. Of a single training only
    the texts are known.
    """
    of_cells = np.nan_to_num(v_cells)
    of_seeds = np.where(np.asarray(n_seeds) > 1, np.fmax(np.nan_to_num(v_seeds), of_cells), 0.0)
    of_texts = np.maximum(v_texts - of_cells, 0.0)
    return TwoErrors(of_seeds, np.asarray(n_seeds - 1.0), of_texts, np.asarray(dof_texts))


class _Cells(NamedTuple):
    """(n, 1) total that the statistic Q is compared with, and the parts of Q."""

    total: FloatArray  # T
    of_cell: FloatArray  # variance of a training's gap from its single cells
    of_texts: FloatArray  # B, from the texts that trainings share
    n_seeds: FloatArray  # S
    dof: FloatArray  # ν of V_I

    def at(self, chosen: BoolArray | slice) -> _Cells:
        return _Cells(*(part[chosen] for part in self))


@np.errstate(all="ignore")
def typical_gap(
    gap: Sequence[FloatArray | IntArray | float],
    *,
    threshold: FloatArray | float,
    confidence: float | None = Statistics.confidence,
    largest_gap: FloatArray | None = None,
) -> TypicalGap:
    """Judge the mean gap and the typical gap of one training, of many cells at once.

    T = S·D̄² + S(S − 1)·V_S, the sum of the trainings' squared gaps, is compared with
    Q = (v + S·B)(Z + λ)² + v·χ²_{S−1}, where v = τ² + S·V_E, B = max(V_I − V_E, 0) and
    λ = μ/√(v/S + B). Of all μ and τ whose R is the threshold, in steps of one degree of the angle
    between them, the one counts for which Q is most often beyond T. Z is normal, for ``p_large`` a
    t variable with the degrees of freedom of V_I. See ``docs/statistics.md``.

    ``gap`` has D̄, V_S, V_I, V_E, S and the degrees of freedom of V_I, (n,) each, as the first of
    :class:`~exparity.stats.mean_gap.MeanGap`. V_S and V_E count as 0 where they are NaN. Of one
    training, the size is that of all only if they are like this one: it has no guard. Without
    ``confidence``, which costs most of the time, there are no intervals.
    """
    columns = [*gap, threshold, NAN if largest_gap is None else largest_gap]
    given = np.stack(np.broadcast_arrays(*(np.atleast_1d(one) for one in columns))).astype(float)
    known = np.isfinite(given[[0, 2, 4, 6]]).all(axis=0)
    parts = [
        _judged(given[:, known][:, start : start + _AT_ONCE], confidence)
        for start in range(0, int(known.sum()), _AT_ONCE)
    ]
    result = {}
    for name in TypicalGap._fields:
        column = np.full(given.shape[1], NAN)
        if parts:
            column[known] = np.concatenate([getattr(part, name) for part in parts])
        result[name] = column.reshape(np.shape(gap[0]))
    return TypicalGap(**result)


def _judged(given: FloatArray, confidence: float | None) -> TypicalGap:
    estimate, v_seeds, v_texts, v_cells, n_seeds, dof, threshold, largest = given
    v_seeds, v_cells = np.nan_to_num(v_seeds), np.nan_to_num(v_cells)
    errors = two_errors(v_seeds, v_texts, v_cells, n_seeds, dof)
    total = n_seeds * estimate**2 + n_seeds * (n_seeds - 1) * v_seeds
    of_cell, of_texts = n_seeds * v_cells, errors.second
    dof = np.where(dof > 0, dof, 1.0)
    cells = _Cells(*(x[:, None] for x in (total, of_cell, of_texts, n_seeds, dof)))
    p_large, angle_large = _largest(cells, threshold, upper=True)
    p_small, angle_small = _largest(cells, threshold, upper=False)
    p_small = np.where(threshold > 0, p_small, 1.0)
    p_others = np.where(n_seeds > 1, NAN, 1.0)
    if (known := (n_seeds > 1) & ~np.isnan(largest)).any():
        rest = np.maximum(total - largest**2, 0.0)[:, None]
        others = cells._replace(total=rest, n_seeds=cells.n_seeds - 1).at(known)
        p_others[known] = _largest(others, threshold[known], upper=True)[0]
    p_others[np.isnan(largest)] = NAN
    half = low = high = np.full(len(total), NAN)
    if confidence is not None:
        half = critical_value(1 - confidence, errors)
        level = (1 - confidence) / 2
        low = _end(cells, angle_large, level, upper=True)
        high = _end(cells, angle_small, level, upper=False)
    square = estimate**2 + (n_seeds - 1) * (v_seeds - v_cells) - of_texts
    return TypicalGap(
        p_mean=two_sided_p(estimate, errors),
        mean_low=estimate - half,
        mean_high=estimate + half,
        rms_gap=np.sqrt(np.maximum(square, 0.0)),
        rms_low=low,
        rms_high=high,
        p_large=p_large,
        p_small=p_small,
        p_large_others=p_others,
        tau=np.sqrt(np.maximum(n_seeds * (v_seeds - v_cells), 0.0)),
        p_seeds=_p_seeds(v_seeds, v_cells, n_seeds, dof),
    )


def _beyond(cells: _Cells, rms: FloatArray, angle: FloatArray, *, upper: bool) -> FloatArray:
    """Return the probability that Q is at least T (``upper``) or at most, (n, k) for k angles."""
    from scipy.special import gammainc, gammaincc, gammaln, stdtr, stdtrit

    total, of_cell, of_texts, n_seeds, dof = cells
    v = (rms * np.sin(angle)) ** 2 + of_cell
    edge, centre = np.sqrt(total), np.sqrt(n_seeds) * rms * np.cos(angle)
    spread = np.maximum(np.sqrt(v + n_seeds * of_texts), 1e-12 * (edge + centre) + 1e-300)
    low, high = (-edge - centre) / spread, (edge - centre) / spread
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
    of_rest = (gammaincc if upper else gammainc)((n_seeds[..., None] - 1) / 2, rest / 2)
    inside = (of_rest * density * SLOPES).sum(axis=-1) * width
    return np.asarray(np.clip(outside + inside, 0.0, 1.0))


def _places(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return where an integral between two ends is evaluated, (..., nodes), and half its width."""
    middle, half = (low + high) / 2, (high - low) / 2
    return middle[..., None] + half[..., None] * PLACES, half


def _largest(cells: _Cells, rms: FloatArray, *, upper: bool) -> tuple[FloatArray, FloatArray]:
    """Return the largest probability over all whole degrees, and its angle: (n,) each."""
    degrees = np.broadcast_to(_COARSE, (len(rms), len(_COARSE)))
    p = _beyond(cells, rms[:, None], np.deg2rad(degrees), upper=upper)
    fine = np.clip(_COARSE[p.argmax(axis=1), None] + _FINE, 0, 90)
    p = np.hstack([p, _beyond(cells, rms[:, None], np.deg2rad(fine), upper=upper)])
    row, best = np.arange(len(p)), p.argmax(axis=1)
    nothing = cells.total[:, 0] <= 0
    angle = np.deg2rad(np.hstack([degrees, fine])[row, best])
    return np.where(nothing, 1.0 if upper else 0.0, p[row, best]), angle


def _end(cells: _Cells, angle: FloatArray, level: float, *, upper: bool) -> FloatArray:
    """Return the R below (``upper``) or above which the p-value is at most a level.

    At every angle the probability is monotone in R, so that the end is the most extreme one of all
    angles: R is solved for one angle, and the angle looked for at that R, until it stays.
    """
    from scipy.special import ndtri

    total = cells.total[:, 0]
    scale = np.sqrt(total) + np.sqrt(cells.of_cell + cells.n_seeds * cells.of_texts)[:, 0]
    end = np.zeros(len(total))
    at_zero = _largest(cells, np.zeros(len(total)), upper=upper)[0]
    open_ = (at_zero <= level) if upper else (at_zero > level)
    open_ &= (total > 0) & (scale > 0)
    if not open_.any():
        return end
    some, angles, scale = cells.at(open_), angle[open_], scale[open_]
    target = float(ndtri(level))

    def beyond(log_rms: FloatArray) -> FloatArray:
        p = _beyond(some, np.exp(log_rms)[:, None], angles[:, None], upper=upper)[:, 0]
        return np.asarray(ndtri(np.clip(p, 1e-300, 1 - 1e-16)) - target)

    rms = scale
    for _ in range(_ALTERNATIONS):
        high = np.log(scale)
        sign = 1 if upper else -1
        for _ in range(_WIDENINGS):
            high = np.where(sign * beyond(high) < 0, high + np.log(4), high)
        rms = np.exp(root_between(beyond, np.log(1e-9 * scale), high))
        p, angles = _largest(some, rms, upper=upper)
        if (np.abs(p / level - 1) <= 1e-6).all():
            break
    end[open_] = rms
    return end


@np.errstate(all="ignore")
def findable_gaps(
    n_seeds: FloatArray,
    of_texts: FloatArray,
    dof: FloatArray,
    *,
    threshold: float,
    alpha: FloatArray,
    power: float,
) -> tuple[FloatArray, FloatArray]:
    """Return the R that is found to be above the threshold, and the R that is found to be below.

    Of trainings without a mean gap, whose single cells add nothing. The guard is left out.
    """
    from scipy.special import ndtri

    bound, whole = np.full(len(n_seeds), threshold), np.full((len(n_seeds), 1), np.pi / 2)

    def score(p: FloatArray | float) -> FloatArray:
        return np.asarray(ndtri(np.clip(p, 1e-300, 1 - 1e-16)))

    def cells(log_total: FloatArray) -> _Cells:
        parts = (np.exp(log_total), np.zeros(len(log_total)), of_texts, n_seeds, dof)
        return _Cells(*(part[:, None] for part in parts))

    def critical(*, upper: bool) -> _Cells:
        def distance(log_total: FloatArray) -> FloatArray:
            p = _largest(cells(log_total), bound, upper=upper)[0]
            return score(p) - score(alpha)

        scale = np.log(n_seeds * (threshold**2 + of_texts))
        return cells(root_between(distance, scale - 30, scale + 15))

    def gap_with(at: _Cells, chance: float) -> FloatArray:
        """Return the R for which Q is at most a total with some chance."""

        def distance(log_rms: FloatArray) -> FloatArray:
            p = _beyond(at, np.exp(log_rms)[:, None], whole, upper=False)[:, 0]
            return score(p) - score(chance)

        least, most = np.log(bound) - 15, np.log(bound) + 15
        return np.where(distance(least) > 0, np.exp(root_between(distance, least, most)), NAN)

    return gap_with(critical(upper=True), 1 - power), gap_with(critical(upper=False), power)


def _p_seeds(
    v_seeds: FloatArray, v_cells: FloatArray, n_seeds: FloatArray, dof: FloatArray
) -> FloatArray:
    """Return the p-value of the F-test that trainings do not differ; NaN of a single training."""
    from scipy.special import fdtrc

    p = fdtrc(n_seeds - 1, (n_seeds - 1) * dof, v_seeds / v_cells)
    return np.where(n_seeds > 1, p, NAN)
