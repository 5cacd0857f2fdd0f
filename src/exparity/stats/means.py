"""Mean of a metric's scores over trainings and texts, with an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exparity.core.settings import DEFAULTS
from exparity.stats.behrens_fisher import critical_value
from exparity.stats.mean_gap import mean_gap
from exparity.stats.samples import plain_ids, set_index, set_means
from exparity.types import FloatArray


@dataclass(frozen=True)
class MeanScore:
    """The mean of a metric's scores.

    Attributes:
        n_seeds: trainings.
        n_examples: examples with a score in some training.
        mean: mean of the scores; NaN if there is none.
        ci_low, ci_high: ends of its interval: over other trainings and other texts, of a single
            training over other texts alone. NaN for fewer than two texts or matched sets.
    """

    n_seeds: int
    n_examples: int
    mean: float = np.nan
    ci_low: float = np.nan
    ci_high: float = np.nan


def mean_score(
    scores: FloatArray,
    pairs: Sequence[str | None] | None = None,
    *,
    confidence: float = DEFAULTS.confidence,
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> MeanScore:
    """Estimate the mean of a metric's scores.

    The interval is that of :func:`~exparity.stats.mean_gap.mean_gap` over trainings and texts.
    Matched sets are drawn whole: what varies is each set's mean. Of one training it is Student's.
    """
    defined = ~np.isnan(scores)
    sizes = len(scores), int(defined.any(axis=0).sum())
    if not defined.any():
        return MeanScore(*sizes)
    mean = float(scores[defined].mean())
    units = scores
    sets = set_index(plain_ids(pairs), np.ones(scores.shape[1], dtype=bool))
    if sets is not None:
        units = set_means(np.nan_to_num(scores), (~defined).astype(np.int64), sets, 2)[..., 0]
    units = units[~np.isnan(units).all(axis=1)][:, ~np.isnan(units).all(axis=0)]
    if units.shape[1] < 2:
        return MeanScore(*sizes, mean)
    half = float(critical_value(1 - confidence, mean_gap(units).errors))
    return MeanScore(*sizes, mean, max(mean - half, bounds[0]), min(mean + half, bounds[1]))


def mean_of_finite(values: FloatArray) -> float:
    """Return the mean of the values that are finite; NaN where none is."""
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if finite.size else np.nan
