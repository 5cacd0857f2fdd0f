"""Levels: the mean of a metric in each group, with its interval over trainings and texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exparity.core.settings import DEFAULTS
from exparity.stats.crossed import ROUNDING
from exparity.stats.mean_gap import Estimate, mean_gap
from exparity.stats.typical_gap import typical_gap
from exparity.types import FloatArray


@dataclass(frozen=True)
class GroupLevel:
    """The mean of a group, in the metric's unit.

    Attributes:
        group: the group.
        n_texts: texts of it with a value in some training.
        n_trainings: trainings with a value of it.
        level: mean over trainings and texts; NaN without any value.
        ci_low, ci_high: ends of its interval over other trainings and other texts, of a single
            training over other texts; NaN of a single text.
    """

    group: str
    n_texts: int = 0
    n_trainings: int = 0
    level: float = np.nan
    ci_low: float = np.nan
    ci_high: float = np.nan


def group_levels(
    values: FloatArray,
    groups: Sequence[str],
    order: Sequence[str],
    *,
    confidence: float = DEFAULTS.confidence,
) -> list[GroupLevel]:
    """Return the level of each group.

    Trainings and texts are both samples, as in :func:`~exparity.stats.crossed.crossed_tests`
    (Judd, Westfall and Kenny 2012).

    Args:
        values: (s, n) values of s trainings and n texts, NaN where undefined.
        groups: (n,) group of each text.
        order: the groups.
        confidence: coverage of the intervals.
    """
    group_names = np.array(groups, dtype=object)
    parts = [_known(values[:, group_names == group]) for group in order]
    # Without those of single trainings, of which groups may have different numbers.
    estimates = [mean_gap(part)[:6] for part in parts]
    estimate = Estimate(*map(np.array, zip(*estimates, strict=True)))
    ends = zip(*typical_gap(estimate).mean_interval(confidence), strict=True)
    return [
        _level(group, part, float(low), float(high))
        for group, part, (low, high) in zip(order, parts, ends, strict=True)
    ]


def _known(values: FloatArray) -> FloatArray:
    """Return (s, n) values without trainings and texts that have none."""
    defined = ~np.isnan(values)
    return values[defined.any(axis=1)][:, defined.any(axis=0)]


def _level(group: str, values: FloatArray, low: float, high: float) -> GroupLevel:
    """Return the level of one group from its known (s, n) values and the ends of its interval."""
    n_trainings, n_texts = values.shape
    if not n_texts:
        return GroupLevel(group)
    level = float(np.nanmean(values))
    varies = np.nanmax(values) - np.nanmin(values) > ROUNDING * np.nanmax(np.abs(values))
    if not varies:
        low = high = level if n_texts > 1 else np.nan
    return GroupLevel(group, n_texts, n_trainings, level, low, high)
