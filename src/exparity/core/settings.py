"""Blocks of the config that results record: the comparison of groups, controls and the report."""

from __future__ import annotations

from collections.abc import Sequence
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


class StudyStatistics(Statistics):
    """Comparison of groups over a study.

    Attributes:
        family: ids that tests must share to be one family, over which p-values are corrected.
    """

    family: Sequence[str] = ("dataset",)


class Report(Settings):
    """Content of the report.

    Attributes:
        figures: draw the figures for papers, most of the report's time: two minutes for 5,040
            tests. The page has plots of its own.
    """

    figures: bool = True


class Random(Settings):
    """Every metric also scores random explanations.

    Attributes:
        draws: random explanations of each text. Each takes as long as scoring one method; more give
            a steadier mean. 0 leaves out the control and the excess.
    """

    draws: Annotated[int, Range(at_least=0, at_most=1000)] = 5


class Reference(Settings):
    """A search for the tokens that matter most, as a reference for metrics that remove tokens.

    Attributes:
        enabled: whether to search. By default, of datasets without forward simulation alone, whose
            verdicts need the reference.
        stages: stages of the search. It takes about (stages + 1) / 2 passes a token: 5 stages, for
            long texts, are half the work of 10. More stages find better references.
    """

    enabled: bool | None = None
    stages: Annotated[int, Range(at_least=1, at_most=1000)] = 10


class Controls(Settings):
    """Checks of the pipeline itself.

    Attributes:
        random: every metric also scores random explanations, drawn without the model. A gap between
            groups is then not one of explanations; tests report the excess of a method's scores
            over it.
        reference: a search for the best order of tokens, the upper end of the skill of
            explanations. It needs random explanations.
    """

    random: Random = Random()
    reference: Reference = Reference()
