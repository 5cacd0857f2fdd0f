"""Levels: the mean of a metric in each group, with its interval over trainings and texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exparity.core.settings import DEFAULTS
from exparity.stats.crossed import ROUNDING
from exparity.stats.mean_gap import mean_gap
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
    return [_level(group, values[:, group_names == group], confidence) for group in order]


@np.errstate(all="ignore")
def _level(group: str, values: FloatArray, confidence: float) -> GroupLevel:
    """Return the level of one group from its (s, n) values."""
    defined = ~np.isnan(values)
    trainings = defined.any(axis=1)
    texts = defined.any(axis=0)
    n_texts = int(texts.sum())
    n_trainings = int(trainings.sum())
    if not n_texts:
        return GroupLevel(group)
    present = values[trainings][:, texts]
    level = float(np.nanmean(present))
    ends = level, level
    if np.nanmax(present) - np.nanmin(present) > ROUNDING * np.nanmax(np.abs(present)):
        low, high = typical_gap(mean_gap(present)).mean_interval(confidence)
        ends = float(low), float(high)
    elif n_texts == 1:
        ends = np.nan, np.nan
    return GroupLevel(group, n_texts, n_trainings, level, *ends)
