"""Difference of a cell's gap between two runs of an experiment."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from exparity.core.settings import DEFAULTS
from exparity.stats.behrens_fisher import TwoErrors, critical_value, welch
from exparity.stats.mean_gap import VARIANCES, Estimate
from exparity.types import Row


class _Gap(NamedTuple):
    """The gap of a cell over all trainings, and the variances of its mean."""

    d: float
    pooled_sd: float
    v_seeds: float
    v_texts: float
    v_cells: float
    n_seeds: int
    dof_texts: float

    @property
    def errors(self) -> TwoErrors:
        """The variances of d; NaN for a single training."""
        variances = (np.asarray(getattr(self, name), dtype=np.float64) for name in VARIANCES)
        errors = Estimate(np.zeros(()), *variances).errors
        sd = np.float64(self.pooled_sd)
        has_several = self.n_seeds > 1
        square = np.where((sd > 0) & has_several, sd**2, np.nan)
        return errors._replace(first=errors.first / square, second=errors.second / square)


class GapDifference(NamedTuple):
    """The gap of one run minus that of another, in units of Cohen's d.

    Attributes:
        estimate: the difference; NaN where a run has no gap.
        ci_low, ci_high: ends of its interval; NaN where a run has one training only.
    """

    estimate: float
    ci_low: float = np.nan
    ci_high: float = np.nan

    @property
    def is_testable(self) -> bool:
        """Whether there is an interval."""
        return not math.isnan(self.ci_low)

    @property
    def apart(self) -> bool:
        """Whether the interval excludes zero."""
        return self.ci_low > 0 or self.ci_high < 0


def gap_difference(second: Row, first: Row) -> GapDifference:
    """Compare the gaps of a cell over all trainings in two runs.

    The runs count as independent; the degrees of freedom of their trainings, and of their texts,
    are combined by Welch's rule. If both explain the same texts, their gaps are correlated, and the
    interval is longer than necessary.
    """
    gaps = [_Gap(*(row[name] for name in _Gap._fields)) for row in (second, first)]
    estimate = float(gaps[0].d) - float(gaps[1].d)
    runs = [gap.errors for gap in gaps]
    errors = TwoErrors(
        *welch([(run.first, run.first_dof) for run in runs]),
        *welch([(run.second, run.second_dof) for run in runs]),
    )
    if not errors.standard_error > 0:
        return GapDifference(estimate)
    half = float(critical_value(1 - DEFAULTS.confidence, errors))
    return GapDifference(estimate, estimate - half, estimate + half)
