"""A mean gap over crossed trainings and texts, and its variance from each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from exparity.stats.behrens_fisher import TwoErrors, welch
from exparity.types import BoolArray, FloatArray, IntArray

_UNKNOWN = np.full(1, np.nan)
_SWEEPS = 10  # of the additive fit; one is exact where no cell is missing


class Estimate(NamedTuple):
    """A mean gap over trainings and texts, and how well it is known.

    Attributes:
        gap: (...) D̄, the mean over trainings and texts.
        v_seeds: (...) V_S, the part of its variance from trainings and single cells.
        v_texts: (...) V_I, the part from texts and single cells.
        v_cells: (...) V_E, the part from single cells, which is contained in both.
        n_seeds: (...) S, trainings.
        dof_texts: (...) degrees of freedom of V_I.
        gaps: (..., s) the trainings' own gaps.
        gap_errors: (..., s) their standard errors over other texts.
        gap_dof: (..., s) the degrees of freedom of these.
    """

    gap: FloatArray
    v_seeds: FloatArray
    v_texts: FloatArray
    v_cells: FloatArray
    n_seeds: FloatArray
    dof_texts: FloatArray
    gaps: FloatArray = _UNKNOWN
    gap_errors: FloatArray = _UNKNOWN
    gap_dof: FloatArray = _UNKNOWN

    @property
    def errors(self) -> TwoErrors:
        """The variances of the mean gap from trainings and from texts.

        Single cells are in the mean squares of both, and are counted once. Of a single training
        only the texts are known.
        """
        v_cells = np.nan_to_num(self.v_cells)
        n_seeds = np.asarray(self.n_seeds)
        v_seeds = np.where(n_seeds > 1, np.fmax(np.nan_to_num(self.v_seeds), v_cells), 0.0)
        v_texts_alone = np.maximum(self.v_texts - v_cells, 0.0)
        return TwoErrors(v_seeds, n_seeds - 1.0, v_texts_alone, np.asarray(self.dof_texts))

    @property
    def with_twice_the_trainings(self) -> Estimate:
        """The same estimate from twice as many trainings of its kind; of one training, itself."""
        is_crossed = np.asarray(self.n_seeds) > 1
        v_cells_saved = np.nan_to_num(self.v_cells) / 2
        return self._replace(
            v_seeds=np.where(is_crossed, self.v_seeds / 2, self.v_seeds),
            v_texts=np.where(is_crossed, self.v_texts - v_cells_saved, self.v_texts),
            v_cells=np.where(is_crossed, self.v_cells / 2, self.v_cells),
            n_seeds=np.where(is_crossed, 2 * self.n_seeds, self.n_seeds),
        )

    @property
    def with_twice_the_texts(self) -> Estimate:
        """The same estimate from twice as many texts of its kind."""
        v_cells = np.nan_to_num(self.v_cells)
        return self._replace(
            v_seeds=np.maximum(self.v_seeds, v_cells) - v_cells / 2,
            v_texts=self.v_texts / 2,
            v_cells=self.v_cells / 2,
            dof_texts=2 * self.dof_texts + 1,
        )

    @property
    @np.errstate(all="ignore")
    def p_cross(self) -> FloatArray:
        """(...) p-value of "no two trainings favour different groups".

        In each direction, the smallest one-sided p-value of a training counts, times the number of
        trainings; the larger one of both directions (Piantadosi and Gail 1993,
        doi:10.1002/sim.4780121307).
        """
        from scipy.special import stdtr

        errors = self.gap_errors
        t = np.where((self.gaps == 0) & (errors == 0), 0.0, self.gaps / errors)
        is_estimated = np.isfinite(errors) & (self.gap_dof > 0)
        n_seeds = self.gaps.shape[-1]
        sides = [
            n_seeds * np.where(is_estimated, stdtr(self.gap_dof, side * t), 1.0).min(axis=-1)
            for side in (-1, 1)
        ]
        return np.asarray(np.minimum(1.0, np.maximum(*sides)))


VARIANCES = ("v_seeds", "v_texts", "v_cells", "n_seeds", "dof_texts")
"""Fields of an estimate, and columns of tables of gaps, that its errors follow from."""


def mean_gap(*parts: FloatArray) -> Estimate:
    """Estimate a mean over crossed trainings and texts (Judd, Westfall and Kenny 2012).

    ``parts`` are the (..., s, n) differences within matched sets, or the values of two groups, NaN
    where a cell is missing.

    Let e be each cell's share in the error of D̄ (its deviation from its group's mean, divided by
    that group's number of cells), and r the residuals of e after an additive fit of seeds and
    texts. The variance of D̄ has the parts

    - V_S = S/(S − 1) Σ_s (Σ_i e)², from trainings and single cells;
    - V_I = Σ_groups n/(n − 1) Σ_i (Σ_s e)², from texts and single cells;
    - V_E = Σ_groups m/ν_E Σ r² with m cells and ν_E = m − S − n + 1, from single cells, which is
      contained in both.

    For matched sets without missing cells they are the mean squares of the two-way table over S·n.

    Missing cells leave some of the texts' variance in V_S and of the trainings' in V_I, so that
    tests err on the safe side. The examples of two groups count as independent draws; what a
    training does to both groups alike cancels.
    """
    return gap_of([sample_of(part) for part in parts])


class Sample(NamedTuple):
    """One part of a mean gap: the values of a group, or the differences within matched sets.

    Attributes:
        mean: (...) mean over all cells.
        training_means: (..., s) mean of each training.
        seed_shares: (..., s) share of each training in the error of the mean.
        n_seeds: (...) trainings with a value.
        v_texts: (...) variance of the mean from texts and single cells.
        dof_texts: (...) its degrees of freedom.
        v_cells: (...) variance of the mean from single cells alone.
        v_trainings: (..., s) variance of the mean of each training, over its texts.
        training_dof: (..., s) degrees of freedom of these.
    """

    mean: FloatArray
    training_means: FloatArray
    seed_shares: FloatArray
    n_seeds: IntArray
    v_texts: FloatArray
    dof_texts: FloatArray
    v_cells: FloatArray
    v_trainings: FloatArray
    training_dof: FloatArray


@np.errstate(all="ignore")
def gap_of(samples: Sequence[Sample]) -> Estimate:
    """Estimate the gap between two samples, or the mean of one; see :func:`mean_gap`."""
    seeds = samples[-1].n_seeds
    signed = [*zip((1, -1), samples, strict=False)]  # the second one is subtracted
    v_seeds, _ = _component(
        np.sum([sign * sample.seed_shares for sign, sample in signed], axis=0), seeds, seeds - 1
    )
    v_texts, dof_texts = welch([(sample.v_texts, sample.dof_texts) for sample in samples])
    v_gaps, gap_dof = welch([(sample.v_trainings, sample.training_dof) for sample in samples])
    return Estimate(
        gap=np.sum([sign * sample.mean for sign, sample in signed], axis=0),
        v_seeds=v_seeds,
        v_texts=v_texts,
        v_cells=np.sum([sample.v_cells for sample in samples], axis=0),
        n_seeds=np.asarray(seeds),
        dof_texts=dof_texts,
        gaps=np.sum([sign * sample.training_means for sign, sample in signed], axis=0),
        gap_errors=np.sqrt(v_gaps),
        gap_dof=gap_dof,
    )


@np.errstate(all="ignore")
def sample_of(part: FloatArray) -> Sample:
    """Take the (..., s, n) values of a group apart; NaN where a cell is missing."""
    defined = ~np.isnan(part)
    m = defined.sum(axis=(-2, -1))
    mean = np.where(defined, part, 0.0).sum(axis=(-2, -1)) / m
    e = np.where(defined, part - mean[..., None, None], 0.0) / m[..., None, None]
    n = defined.any(axis=-2).sum(axis=-1)
    seeds = defined.any(axis=-1).sum(axis=-1)
    residuals = additive_residuals(e, defined).reshape(*m.shape, -1)
    k = defined.sum(axis=-1)
    training_means = np.where(defined, part, 0.0).sum(axis=-1) / k
    within = np.where(defined, part - training_means[..., None], 0.0) / k[..., None]
    v_texts, dof_texts = _component(e.sum(axis=-2), n, n - 1)
    v_cells, _ = _component(residuals, m, m - seeds - n + 1)
    v_trainings, training_dof = _component(within, k, k - 1)
    return Sample(
        mean=mean,
        training_means=training_means,
        seed_shares=e.sum(axis=-1),
        n_seeds=seeds,
        v_texts=v_texts,
        dof_texts=dof_texts,
        v_cells=v_cells,
        v_trainings=v_trainings,
        training_dof=training_dof,
    )


def _component(shares: FloatArray, times: IntArray, dof: IntArray) -> tuple[FloatArray, FloatArray]:
    """Scale the sum of squares of (..., k) shares in an error; NaN without degrees of freedom."""
    variance = np.where(dof > 0, (shares**2).sum(axis=-1) * times / dof, np.nan)
    return variance, np.asarray(dof, dtype=np.float64)


def additive_residuals(e: FloatArray, defined: BoolArray) -> FloatArray:
    """Return what seeds and texts leave of the defined cells, (..., s, n), fitted additively."""
    for _ in range(1 if defined.all() else _SWEEPS):
        for axis in (-1, -2):
            count = np.maximum(defined.sum(axis=axis, keepdims=True), 1)
            e = np.where(defined, e - e.sum(axis=axis, keepdims=True) / count, 0.0)
    return e
