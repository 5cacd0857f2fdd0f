"""Power of a sample: the smallest p-value and the smallest gap that it can find."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from exparity.core.settings import DEFAULTS
from exparity.stats.behrens_fisher import TwoErrors, critical_value, root_between, welch
from exparity.stats.typical_gap import findable_gaps
from exparity.types import FloatArray

DETECTED = 0.8
"""Power at which an effect counts as detectable (Cohen 1988, §2.4)."""
_LARGEST = 1e3  # critical value; beyond it the effect is in proportion, and its search does not end


def smallest_p(n_a: int, n_b: int, n_sets: int = 0) -> float:
    """Return the smallest two-sided p-value that a rank test can have on samples of these sizes.

    Only one way in C(n_a + n_b, n_a) of dealing out the groups, and its mirror image, sets them
    apart as far as can be; and one pattern of signs in 2ⁿ. The signed-rank test counts where there
    are matched sets.
    """
    return min(1.0, 2.0 ** (1 - n_sets) if n_sets else 2 / math.comb(n_a + n_b, n_a))


def minimal_detectable_effect(
    standard_error: float | FloatArray,
    dof: float | FloatArray,
    *,
    alpha: float = DEFAULTS.alpha,
) -> FloatArray:
    """Return the effect that a two-sided t-test finds with the power :data:`DETECTED`.

    The noncentrality at which the noncentral t exceeds t_{1−α/2,ν} with that probability, times the
    standard error; that the test could reject on the wrong side is left out. The sum of quantiles
    t_{1−α/2,ν} + t_{power,ν} that is often used is too small by 10 % at ν = 4 and α = 0.05/42.
    """
    from scipy.special import nctdtrinc, stdtrit

    critical = stdtrit(dof, 1 - alpha / 2)
    searched = np.minimum(critical, _LARGEST)
    effect = nctdtrinc(dof, 1 - DETECTED, searched) * critical / searched
    return np.asarray(effect * standard_error, dtype=np.float64)


@np.errstate(all="ignore")
def detectable_effect(errors: TwoErrors, *, alpha: float) -> FloatArray:
    """Return the effect that the two-sided test finds with the power :data:`DETECTED`.

    It is the effect of a t-test with the same critical value and standard error, whose degrees of
    freedom follow from these; see :func:`minimal_detectable_effect`.
    """
    from scipy.special import stdtrit

    error = errors.standard_error
    critical = critical_value(alpha, errors)
    ratios = np.ravel(critical / error)
    dof = np.full(len(ratios), np.nan)
    is_finite = np.isfinite(ratios)
    # Two single degrees of freedom can exceed one: then t has one, and a larger error.
    ends = np.log(np.array([1.0, 1e9]))
    at_most, at_least = stdtrit(np.exp(ends), 1 - alpha / 2)
    sought = np.clip(ratios[is_finite], at_least, at_most)

    def beyond(log_dof: FloatArray) -> FloatArray:
        return np.asarray(np.log(stdtrit(np.exp(log_dof), 1 - alpha / 2) / sought))

    low, high = np.broadcast_to(ends[:, None], (2, len(sought)))
    dof[is_finite] = np.exp(root_between(beyond, low, high))
    dof = np.reshape(dof, np.shape(error))
    scale = critical / stdtrit(dof, 1 - alpha / 2)
    return minimal_detectable_effect(scale, dof, alpha=alpha)


def planned_typical_gaps(
    seeds: Sequence[int],
    sizes: tuple[int, int, int] | None = None,
    *,
    correlation: float = 0.0,
    threshold: float = DEFAULTS.threshold,
    alpha: float = DEFAULTS.alpha,
) -> tuple[FloatArray, FloatArray]:
    """Return the typical gaps that are found to be above the threshold, and to be below it.

    Each is (s,), by numbers of trainings. ``sizes`` are n_a, n_b and the matched sets, 0 for none;
    None for an unlimited number of texts. ``correlation`` is between the scores of a set.

    It is assumed that all variation between texts is the same in all trainings, and that trainings
    have no mean gap. Both make a gap harder to find.
    """
    v_texts, dof = (0.0, 1e6) if sizes is None else _variance_from_texts(sizes)
    v_texts *= 1 - correlation if sizes and sizes[2] else 1
    n_seeds = np.array(seeds, dtype=np.float64)
    gaps = np.full((2, len(n_seeds)), np.nan)
    is_estimable = (n_seeds > 1) & (dof >= 1)
    if is_estimable.any():
        chances = {"threshold": threshold, "alpha": alpha, "power": DETECTED}
        gaps[:, is_estimable] = findable_gaps(n_seeds[is_estimable], v_texts, dof, **chances)
    return gaps[0], gaps[1]


def _variance_from_texts(sizes: tuple[int, int, int]) -> tuple[float, float]:
    """Return the variance of a d from texts, and its degrees of freedom; 0 of these if too few."""
    n_a, n_b, n_sets = sizes
    texts = [(2 / n_sets, n_sets - 1)] if n_sets else [(1 / max(n, 1), n - 1) for n in (n_a, n_b)]
    if min(dof for _, dof in texts) < 1:
        return np.nan, 0.0
    variance, dof = map(float, welch(texts))
    return variance, dof
