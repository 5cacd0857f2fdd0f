"""Settings of the comparison of groups: of tests, verdicts and intervals."""

from __future__ import annotations

from typing import Annotated, ClassVar

from exparity.core.flags import Range, Share
from exparity.core.validation import Settings


class Statistics(Settings):
    """Comparison of groups.

    Attributes:
        alpha: largest p-value that counts as significant.
        threshold: Cohen's |d| from which an effect counts as considerable.
        ddof: degrees of freedom taken off in the variances of Cohen's d; 0 to match studies that
            divide by n.
        confidence: coverage of intervals.
        resamples: bootstrap resamples, and permutations, of prediction differences; 0 leaves out
            these and the interval of Cohen's d.
    """

    where: ClassVar[str] = "statistics"
    alpha: Share = 0.05
    threshold: Annotated[float, Range(at_least=0)] = 0.2
    ddof: Annotated[int, Range(at_least=0, at_most=1)] = 1
    confidence: Share = 0.95
    resamples: Annotated[int, Range(at_least=0, at_most=1_000_000)] = 2000


DEFAULTS = Statistics.model_construct()
"""The default of each setting."""
