"""Significant tests as the published study counts them: of a cell over its seeds, and of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from exparity.stats.informative import informative
from exparity.types import FloatArray, Row


class _SeedTest(NamedTuple):
    """The test of a cell in one training."""

    significant: bool
    cohens_d: float
    flags: list[str]


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


def count_seeds(rows: Sequence[Row], threshold: float) -> SeedCounts:
    """Count the seeds of one cell as the published study does."""
    tests = [_SeedTest(*(row[name] for name in _SeedTest._fields)) for row in rows]
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


def mean_effect(rows: Sequence[Row]) -> float:
    """Return the mean of Cohen's d over all seeds that count and have one.

    It is NaN of none, and of infinite ones of both signs.
    """
    d = _effects(informative(rows))
    with np.errstate(invalid="ignore"):
        return float(d.mean()) if len(d) else np.nan


def has_both_signs(rows: Sequence[Row]) -> bool:
    """Return whether seeds that count have opposite signs; arguments as :func:`mean_effect`."""
    return {-1, 1} <= {row["direction"] for row in informative(rows)}


def sd_of_effects(rows: Sequence[Row]) -> float:
    """Return the standard deviation of Cohen's d over all seeds that count, dividing by n − 1."""
    d = _effects(informative(rows))
    return float(d.std(ddof=1)) if len(d) > 1 and np.isfinite(d).all() else np.nan


def _effects(rows: Sequence[Row]) -> FloatArray:
    d = np.array([row["cohens_d"] for row in rows], dtype=np.float64)
    return d[~np.isnan(d)]


def significant_share(rows: Sequence[Row], *, alpha: float) -> tuple[float, int]:
    """Return the share of Mann–Whitney tests that are significant, uncorrected, and their number.

    Tests without a p-value are not counted, nor those that are not
    :func:`~exparity.stats.informative.is_informative`. The share is NaN without tests.
    """
    p_values = [row["p"] for row in informative(rows)]
    hits = [bool(p <= alpha) for p in p_values if p == p]
    return sum(hits) / len(hits) if hits else np.nan, len(hits)
