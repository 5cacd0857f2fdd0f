"""Significant tests as the published study counts them: of a cell over its seeds, and of all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from exparity.stats.adjusted import AtEqualCovariates
from exparity.stats.compare import GroupComparison
from exparity.stats.informative import informative
from exparity.stats.sources import GapParts
from exparity.types import FloatArray


@dataclass(frozen=True, kw_only=True)
class SeedTest(AtEqualCovariates, GapParts, GroupComparison):
    """The test of a cell in one training: a row of the tests or the disparity artefact.

    Tests by hand need no ids of a training, and are of scores.

    Attributes:
        group_a, group_b: first and second group.
        dataset, model, seed, method, metric: ids of the cell and its training.
        quantity: ``score``, ``excess`` or ``skill``; of random explanations behind ``random_``.
        draw: number of the random explanation; None of a method.
        metric_direction: which end of the metric is better, ``higher`` or ``lower``.
        better_group: the group with the better values; None where there is none.
        test_accuracy: accuracy of the classifier on the test examples, in [0, 1].
        random_significant: share of random explanations whose test is significant.
    """

    group_a: str
    group_b: str
    method: str
    metric: str
    dataset: str = ""
    model: str = ""
    seed: int = 0
    quantity: str = "score"
    draw: int | None = None
    metric_direction: str | None = None
    better_group: str | None = None
    test_accuracy: float = np.nan
    random_significant: float = np.nan
    n_a: int = 0
    n_b: int = 0
    mean_a: float = np.nan
    mean_b: float = np.nan
    sd_a: float = np.nan
    sd_b: float = np.nan
    mean_difference: float = np.nan

    @property
    def cell(self) -> tuple[str, ...]:
        """Its cell, by :data:`~exparity.stats.multiplicity.CELL_IDS`."""
        ids = (self.dataset, self.model, self.method, self.metric)
        return (*ids, self.group_a, self.group_b)


def of_quantity(tests: Iterable[SeedTest], quantity: str) -> list[SeedTest]:
    """Return the tests of one quantity."""
    return [test for test in tests if test.quantity == quantity]


@dataclass(frozen=True)
class SeedCounts:
    """All seeds of a (dataset, model, method, metric) for two groups, counted as published.

    Attributes:
        significant: seeds with a significant difference.
        total: seeds tested.
        mean_d: mean Cohen's d over the significant seeds; over all seeds if none is; None if
            undefined.
        direction: sign of ``mean_d``: 1 where the first group scores higher.
        considerable: |mean d| of the significant seeds at least the threshold.
        flags: flags of any of its tests.
    """

    significant: int
    total: int
    mean_d: float | None
    direction: int
    considerable: bool
    flags: tuple[str, ...]

    @property
    def starred(self) -> tuple[str, ...]:
        """The flags that tables mark: all but that d has no interval."""
        return tuple(flag for flag in self.flags if flag != "interval_none")

    @property
    def in_most_seeds(self) -> bool:
        """Whether more than half of the seeds are significant."""
        return majority(self.significant, self.total)


def majority(significant: int, total: int) -> bool:
    """Return whether more than half of the runs are significant."""
    return 2 * significant > total


def count_seeds(tests: Sequence[SeedTest], threshold: float) -> SeedCounts:
    """Count the seeds of one cell as the published study does."""
    significant = [test for test in tests if test.significant]
    effects = [test.cohens_d for test in significant or tests if test.cohens_d == test.cohens_d]
    mean_d = sum(effects) / len(effects) if effects else None
    if mean_d != mean_d:  # infinite effects of both signs
        mean_d = None
    return SeedCounts(
        significant=len(significant),
        total=len(tests),
        mean_d=mean_d,
        direction=0 if not mean_d else 1 if mean_d > 0 else -1,
        considerable=bool(significant) and mean_d is not None and abs(mean_d) >= threshold,
        flags=tuple(sorted({flag for test in tests for flag in test.flags})),
    )


def mean_effect(tests: Sequence[SeedTest]) -> float:
    """Return the mean of Cohen's d over all seeds that count and have one.

    It is NaN of none, and of infinite ones of both signs.
    """
    d = _effects(informative(tests))
    with np.errstate(invalid="ignore"):
        return float(d.mean()) if len(d) else np.nan


def has_both_signs(tests: Sequence[SeedTest]) -> bool:
    """Return whether seeds that count have opposite signs; arguments as :func:`mean_effect`."""
    return {-1, 1} <= {test.direction for test in informative(tests)}


def sd_of_effects(tests: Sequence[SeedTest]) -> float:
    """Return the standard deviation of Cohen's d over all seeds that count, dividing by n − 1."""
    d = _effects(informative(tests))
    return float(d.std(ddof=1)) if len(d) > 1 and np.isfinite(d).all() else np.nan


def _effects(tests: Sequence[SeedTest]) -> FloatArray:
    d = np.array([test.cohens_d for test in tests], dtype=np.float64)
    return d[~np.isnan(d)]


def significant_share(tests: Sequence[SeedTest], *, alpha: float) -> tuple[float, int]:
    """Return the share of Mann–Whitney tests that are significant, uncorrected, and their number.

    Tests without a p-value are not counted, nor those that are not
    :func:`~exparity.stats.informative.is_informative`. The share is NaN without tests.
    """
    p_values = [test.p for test in informative(tests)]
    hits = [bool(p <= alpha) for p in p_values if p == p]
    return sum(hits) / len(hits) if hits else np.nan, len(hits)
