"""Does any of several groups differ? A test over all groups, before any pair of them.

Trainings and texts are both samples, as in :mod:`~exparity.stats.crossed`. The statistic is the
weighted sum of squares between the means of the groups. Where no group differs, it is a weighted
sum of squared normal variables, which is taken as a multiple of χ² with the same mean and variance
(Box 1954, doi:10.1214/aoms/1177728786; Brunner, Dette and Munk 1997,
doi:10.1080/01621459.1997.10473671), so that trainings may change some groups more than others. Its
tail is averaged over what the variances from trainings and from texts may be, given how well they
are known. Of two groups this is the test of Behrens and Fisher of their gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from exparity.stats.behrens_fisher import NEVER, nodes
from exparity.stats.crossed import ROUNDING, CrossedTest
from exparity.stats.mean_gap import additive_residuals
from exparity.stats.parts import Parts, divided, like_with_like
from exparity.stats.samples import GroupedTexts, complete_sets, set_index, set_means
from exparity.stats.strata import LEAST_SHARE
from exparity.types import FloatArray, IntArray

FEWEST_GROUPS = 3
"""Fewest groups for which a test of all says more than a test of a pair."""
_LEAST_WHOLE = 0.5  # share of the matched sets of two groups that have to have all groups


@dataclass(frozen=True)
class Omnibus:
    """The test over all groups of a cell; each pair of groups repeats it.

    Attributes:
        n_groups: groups that take part: those of some tested pair.
        omnibus_p: p-value of "the means of all these groups are equal", over trainings and texts;
            NaN of fewer than three groups.
    """

    n_groups: int = 0
    omnibus_p: float = np.nan

    def on_another_scale(self, other: Omnibus) -> Omnibus:
        """Return the test on both scales; each must show a difference (Berger 1982)."""
        if np.isnan(self.omnibus_p):
            return self
        return replace(self, omnibus_p=max(self.omnibus_p, np.nan_to_num(other.omnibus_p, nan=1.0)))


def omnibus_test(
    scores: FloatArray,
    texts: GroupedTexts,
    tests: Sequence[CrossedTest],
    *,
    covariate: FloatArray | None = None,
) -> Omnibus:
    """Test whether any of several groups differs from another.

    Where the groups cannot be compared all at once, since half of the matched sets lack some group
    or hardly any texts are alike in all groups, it is the smallest p-value of a pair times the
    number of pairs.

    Args:
        scores: (s, n) values of s trainings and n texts, NaN where undefined.
        texts: groups and matched sets of the n texts.
        tests: those of every two groups by the same values.
        covariate: (n,) what else scores depend on; groups are then compared like with like.
    """
    tested = [test for test in tests if np.isfinite(test.p_mean)]
    names = {name for test in tested for name in (test.group_a, test.group_b)}
    chosen_groups = [group for group in texts.order if group in names]
    if len(chosen_groups) < FEWEST_GROUPS:
        return Omnibus(len(chosen_groups))
    p = np.nan
    chosen = np.isin(texts.codes, [texts.order.index(group) for group in chosen_groups])
    parts = _parts(
        scores[:, chosen],
        texts.among(chosen_groups),
        None if covariate is None else covariate[chosen],
    )
    if parts is not None:
        p = any_differs(parts.known)
    if np.isnan(p):
        p = min(1.0, len(tested) * min(test.p_mean for test in tested))
    return Omnibus(len(chosen_groups), float(p))


def _parts(values: FloatArray, texts: GroupedTexts, covariate: FloatArray | None) -> Parts | None:
    """Return what is compared of all groups at once; None where they cannot be."""
    n_groups = len(texts.order)
    sets = set_index(texts.sets, np.ones(len(texts), dtype=bool))
    if sets is not None and not _are_whole(texts.codes, sets, n_groups):
        return None
    parts = divided(values, texts.codes, sets, n_groups)
    if covariate is None:
        return parts
    alike, share = like_with_like(parts, divided(covariate[None], texts.codes, sets, n_groups))
    return alike if share >= LEAST_SHARE else None


def _are_whole(codes: IntArray, sets: IntArray, n_groups: int) -> bool:
    """Return whether most of the matched sets of at least two groups have all groups."""
    means = set_means(np.zeros(len(codes)), codes, sets, n_groups)
    is_mixed = (~np.isnan(means)).sum(axis=-1) > 1
    return bool(complete_sets(means).sum() >= _LEAST_WHOLE * is_mixed.sum())


class _Covariances(NamedTuple):
    """(k, k) covariances of the means of k groups; those of contrasts count.

    Attributes:
        trainings: from trainings and single cells.
        texts: from texts and single cells.
        cells: from single cells, which are contained in both.
        seeds_dof: degrees of freedom of ``trainings``.
        texts_dof: (k,) those of each group's texts; (1,) of matched sets.
    """

    trainings: FloatArray
    texts: FloatArray
    cells: FloatArray
    seeds_dof: float
    texts_dof: FloatArray


@np.errstate(all="ignore")
def any_differs(parts: Parts) -> float:
    """Return the p-value of "the means of all groups are equal"; see :attr:`Parts.known`.

    NaN where fewer than two texts of a group are known, or the values of a group do not vary.
    """
    if not len(parts.values[0]) or min(part.shape[1] for part in parts.values) < 2:
        return np.nan
    least = ROUNDING * max(np.nanmax(np.abs(part)) for part in parts.values)
    means = np.array([np.nanmean(part) for part in parts.values])
    covariances = _covariances(parts)
    n_groups = len(means)
    between = np.trace(covariances.trainings - covariances.cells)
    between -= (covariances.trainings - covariances.cells).sum() / n_groups
    variances = max(between / (n_groups - 1), 0.0) + np.diag(covariances.texts)
    if not (np.sqrt(variances) > least).all():
        return np.nan
    if np.ptp(means) <= least:
        return 1.0
    weights = 1 / variances
    form = np.diag(weights) - np.outer(weights, weights) / weights.sum()
    statistic = float(means @ form @ means)
    if not parts.are_sets:  # weights are estimated, too (Welch 1951, doi:10.2307/2332579)
        shares = (1 - weights / weights.sum()) * np.diag(covariances.texts) / variances
        spread = float((shares**2 / covariances.texts_dof).sum())
        statistic /= 1 + 2 * (n_groups - 2) / (n_groups**2 - 1) * spread
    return _p_value(statistic, form, covariances)


def _covariances(parts: Parts) -> _Covariances:
    """Estimate covariances of means; see :func:`~exparity.stats.mean_gap.mean_gap`."""
    values = parts.values
    if parts.are_sets:
        values = [part - np.mean(values, axis=0) for part in values]  # contrasts are the same
    by_training = []
    by_text = []
    by_cell = []
    for part in values:
        defined = ~np.isnan(part)
        n_seeds, n_texts = part.shape
        n_cells = int(defined.sum())
        errors = np.where(defined, part - np.nanmean(part), 0.0) / n_cells
        by_training.append(errors.sum(axis=1) * np.sqrt(n_seeds / max(n_seeds - 1, 1)))
        by_text.append(errors.sum(axis=0) * np.sqrt(n_texts / (n_texts - 1)))
        dof = n_cells - n_seeds - n_texts + 1
        residuals = additive_residuals(errors, defined).ravel()
        by_cell.append(residuals * np.sqrt(n_cells / dof if dof > 0 else 0.0))
    if parts.are_sets:
        texts = np.array(by_text) @ np.array(by_text).T
        cells = np.array(by_cell) @ np.array(by_cell).T
    else:
        texts = np.diag([shares @ shares for shares in by_text])
        cells = np.diag([shares @ shares for shares in by_cell])
    sizes = [part.shape[1] for part in (values[:1] if parts.are_sets else values)]
    return _Covariances(
        np.array(by_training) @ np.array(by_training).T,
        texts,
        cells,
        len(values[0]) - 1.0,
        np.array(sizes) - 1.0,
    )


def _p_value(statistic: float, form: FloatArray, covariances: _Covariances) -> float:
    """Return the probability that a quadratic form of means without a gap is as large."""
    from scipy.special import gammaincc

    # Single cells are in the covariances of trainings and of texts, and are counted once.
    by_cells = form @ covariances.cells
    by_trainings = form @ covariances.trainings
    by_texts = form @ covariances.texts
    lack = np.trace(by_cells) - np.trace(by_trainings)
    if covariances.seeds_dof and lack > 0:
        by_trainings = by_trainings + lack / np.trace(by_cells) * by_cells
    by_texts = by_texts * max(1 - np.trace(by_cells) / np.trace(by_texts), 0.0)
    seeds_dof = covariances.seeds_dof * _dimension(by_trainings)
    if len(covariances.texts_dof) == 1:
        texts_dof = covariances.texts_dof[0] * _dimension(by_texts)
    else:
        shares = np.diag(by_texts)
        squares = float((shares**2 / covariances.texts_dof).sum())
        texts_dof = shares.sum() ** 2 / squares if squares else 0.0
        # Weights are estimated, too: the degrees of freedom of Welch's test.
        texts_dof *= (len(shares) + 1) / (3 * (len(shares) - 1))
    seeds_factors, seeds_weights = _variance_factors(seeds_dof)
    texts_factors, texts_weights = _variance_factors(texts_dof)
    x = seeds_factors[:, None]
    mean = np.trace(by_trainings) * x + np.trace(by_texts) * texts_factors
    squares = (
        np.trace(by_trainings @ by_trainings) * x**2
        + 2 * np.trace(by_trainings @ by_texts) * x * texts_factors
        + np.trace(by_texts @ by_texts) * texts_factors**2
    )
    dof = mean**2 / squares
    tails = gammaincc(dof / 2, statistic * dof / mean / 2)
    return float(seeds_weights @ tails @ texts_weights)


def _dimension(matrix: FloatArray) -> float:
    """Return of how many dimensions a variance is, from 1; 0 of none."""
    squares = float(np.trace(matrix @ matrix))
    return float(np.trace(matrix)) ** 2 / squares if squares > 0 else 0.0


def _variance_factors(dof: float) -> tuple[FloatArray, FloatArray]:
    """Return what a variance may be over its estimate, dof / χ²: (m,) places and their weights."""
    from scipy.special import chdtri

    if not dof > 0:
        return np.ones(1), np.ones(1)
    high = np.log(chdtri(dof, NEVER))
    # Near 0, the distribution function is (χ²/2)^(dof/2) / Γ(dof/2 + 1).
    low = np.log(max(float(chdtri(dof, 1 - 1e-15)), np.exp(2 * np.log(NEVER) / dof)))
    log_chi2 = (low + high) / 2 + (high - low) / 2 * nodes().places
    log_density = log_chi2 * dof / 2 - np.exp(log_chi2) / 2
    weights = nodes().slopes * np.exp(log_density - log_density.max())
    return dof / np.exp(log_chi2), weights / weights.sum()
