"""One cell over its seeds: how often, how much, and whether there is a difference at all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from exparity.core.settings import Statistics
from exparity.stats.informative import informative
from exparity.types import FloatArray

# A single p of 1 would outweigh any number of small ones.
_LARGEST_P = 0.99


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


@dataclass(frozen=True)
class SeedSummary:
    """The tests of one (dataset, model, method, metric) and pair of groups over all seeds.

    Tests that are not :func:`~exparity.stats.informative.is_informative` are in none of it but
    ``n_seeds``.

    Attributes:
        n_seeds: seeds of the cell.
        n_tested: seeds with a p-value that counts.
        n_significant: seeds with a significant difference.
        mean_d: mean Cohen's d over all seeds where it is defined.
        sd_d: its standard deviation over them, dividing by n − 1; NaN below two.
        mean_d_significant: mean Cohen's d over the significant seeds; NaN if there are none.
        considerable: |``mean_d_significant``| at least the threshold, as the study counts it.
        direction: sign that most seeds have: 1 where the first group scores higher, −1 where the
            second does, 0 if neither has more.
        same_sign: share of the seeds with a direction that have the more frequent one, in
            [0.5, 1]; NaN if none has a direction.
        both_signs: whether seeds have opposite directions.
        combined_p: p-value of "no seed has a difference"; see :func:`combine_p`.
    """

    n_seeds: int
    n_tested: int
    n_significant: int
    mean_d: float
    sd_d: float
    mean_d_significant: float
    considerable: bool
    direction: int
    same_sign: float
    both_signs: bool
    combined_p: float


def count_seeds(rows: Sequence[Mapping[str, Any]], threshold: float) -> SeedCounts:
    """Count the seeds of one cell as the published study does."""
    significant = [row for row in rows if row["significant"]]
    effects = [row["cohens_d"] for row in significant or rows if row["cohens_d"] == row["cohens_d"]]
    mean_d = sum(effects) / len(effects) if effects else None
    if mean_d != mean_d:  # infinite effects of both signs
        mean_d = None
    return SeedCounts(
        significant=len(significant),
        total=len(rows),
        mean_d=mean_d,
        direction=0 if not mean_d else 1 if mean_d > 0 else -1,
        considerable=bool(significant) and mean_d is not None and abs(mean_d) >= threshold,
        flags=tuple(sorted({flag for row in rows for flag in row["flags"]})),
    )


def mean_effect(rows: Sequence[Mapping[str, Any]]) -> float:
    """Return the mean of Cohen's d over all seeds that count and have one; NaN if none has."""
    return _mean(_effects(informative(rows)))


def has_both_signs(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether seeds that count have opposite signs; arguments as :func:`mean_effect`."""
    return {-1, 1} <= {row["direction"] for row in informative(rows)}


def summarise_seeds(
    rows: Sequence[Mapping[str, Any]], *, threshold: float = Statistics.threshold
) -> SeedSummary:
    """Sum up the tests of one cell over its seeds.

    Args:
        rows: rows of the tests artefact that differ in the seed only.
        threshold: |d| from which an effect is considerable.
    """
    counted = informative(rows)
    significant = [row for row in counted if row["significant"]]
    p = np.array([row["p"] for row in counted], dtype=np.float64)
    d = _effects(counted)
    mean_d_significant = _mean(_effects(significant))
    ups, downs = (sum(row["direction"] == sign for row in counted) for sign in (1, -1))
    return SeedSummary(
        n_seeds=len(rows),
        n_tested=int((~np.isnan(p)).sum()),
        n_significant=len(significant),
        mean_d=_mean(d),
        sd_d=float(d.std(ddof=1)) if len(d) > 1 and np.isfinite(d).all() else math.nan,
        mean_d_significant=mean_d_significant,
        considerable=abs(mean_d_significant) >= threshold,
        direction=int(np.sign(ups - downs)),
        same_sign=max(ups, downs) / (ups + downs) if ups + downs else math.nan,
        both_signs=has_both_signs(rows),
        combined_p=combine_p(p),
    )


def combine_p(p: Sequence[float] | FloatArray) -> float:
    """Combine p-values of dependent tests by the Cauchy combination test (Liu and Xie 2020).

    Seeds train different models but share their test set, so that their tests are not
    independent, and how much they depend on each other is unknown. The mean of
    tan((1/2 − p)π) has the tail of a Cauchy distribution however the tests depend on each other:
    exactly if they are independent or all equal, and nearly so in between. p-values above 0.99
    count as 0.99.

    Args:
        p: (n,) p-values; NaN is left out.

    Returns:
        The combined p-value; NaN if there is none to combine.
    """
    values = np.array(p, dtype=np.float64)
    values = np.minimum(values[~np.isnan(values)], _LARGEST_P)
    if not len(values):
        return math.nan
    with np.errstate(divide="ignore"):
        statistic = float((1 / np.tan(values * np.pi)).mean())  # tan(π/2 − x), exact for small p
    return math.atan2(1.0, statistic) / math.pi


def _effects(rows: Sequence[Mapping[str, Any]]) -> FloatArray:
    d = np.array([row["cohens_d"] for row in rows], dtype=np.float64)
    return d[~np.isnan(d)]


def _mean(d: FloatArray) -> float:
    """Mean effect; NaN of none, and of infinite ones of both signs."""
    with np.errstate(invalid="ignore"):
        return float(d.mean()) if len(d) else math.nan
