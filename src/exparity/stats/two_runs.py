"""How far the gap of a cell differs between two runs of an experiment."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from exparity.core.calls import checked
from exparity.stats.samples import check_options

NAN = math.nan


class GapDifference(NamedTuple):
    """The gap of one run minus that of another, in units of Cohen's d.

    Attributes:
        estimate: the difference; NaN where a run has no gap.
        ci_low, ci_high: ends of its interval; NaN where a run has one training only.
    """

    estimate: float
    ci_low: float = NAN
    ci_high: float = NAN

    @property
    def apart(self) -> bool:
        """Whether the interval excludes zero."""
        return self.ci_low > 0 or self.ci_high < 0


@checked
def gap_difference(
    second: Mapping[str, Any],
    first: Mapping[str, Any],
    *,
    confidence: float = 0.95,
) -> GapDifference:
    """Compare what all trainings of a cell say in two runs.

    The runs are taken for independent, with Welch's degrees of freedom. Where both explain the same
    texts their gaps rise and fall together, and the interval is longer than need be.

    Args:
        second: a row of the ``verdicts`` artefact, whose gap is looked at.
        first: the row of the same cell in the run that it is compared with.
        confidence: coverage of the interval.

    Raises:
        InputError: a confidence outside (0, 1).
    """
    check_options(confidence=confidence)
    names = ("d", "standard_error", "pooled_sd", "dof")
    (d, error, sd, dof), (base_d, base_error, base_sd, base_dof) = (
        [float(row[name]) for name in names] for row in (second, first)
    )
    estimate = d - base_d
    variances = [(one / of) ** 2 if of else NAN for one, of in ((error, sd), (base_error, base_sd))]
    variance = sum(variances)
    if not variance > 0:
        return GapDifference(estimate)
    from scipy.special import stdtrit

    welch = variance**2 / (variances[0] ** 2 / dof + variances[1] ** 2 / base_dof)
    half = float(stdtrit(welch, 0.5 + confidence / 2)) * math.sqrt(variance)
    return GapDifference(estimate, estimate - half, estimate + half)
