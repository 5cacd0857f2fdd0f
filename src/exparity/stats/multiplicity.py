"""p-values corrected for how many were looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from exparity.core.grouping import grouped
from exparity.core.settings import DEFAULTS
from exparity.stats.informative import is_informative
from exparity.types import FloatArray

CELL_IDS = ("dataset", "model", "method", "metric", "group_a", "group_b")
"""Ids that the tests of one cell share, which differ in the seed."""
FamilyId = Literal["dataset", "model", "seed", "method", "metric"]
"""Id that the tests of one family may share."""


def holm(p: Sequence[float] | FloatArray) -> FloatArray:
    """Adjust p-values by Holm's step-down method (Holm 1979).

    Rejecting where the adjusted p is at most α keeps the probability of one or more false
    rejections at or below α, however the tests depend on each other.
    NaN, of a test that could not be made, does not count and stays.
    """
    values = np.array(p, dtype=np.float64)
    defined = np.flatnonzero(~np.isnan(values))
    order = defined[np.argsort(values[defined], kind="stable")]
    m = len(order)
    steps = np.maximum.accumulate(values[order] * (m - np.arange(m)))
    values[order] = np.minimum(steps, 1.0)
    return values


def benjamini_hochberg(p: Sequence[float] | FloatArray) -> FloatArray:
    """Adjust p-values by the step-up method of Benjamini and Hochberg (1995).

    Rejecting where the adjusted p is at most α keeps the expected share of false ones among the
    rejections at or below α, for tests that are independent or positively dependent.
    """
    from scipy.stats import false_discovery_control

    values = np.array(p, dtype=np.float64)
    defined = ~np.isnan(values)
    if defined.any():
        values[defined] = false_discovery_control(values[defined], method="bh")
    return values


def quantity_of(row: Mapping[str, Any]) -> str:
    """Return what is compared in a row; tests by hand are of scores."""
    return str(row.get("quantity", "score"))


def families(
    rows: Sequence[Mapping[str, Any]],
    family: Sequence[str],
    part_of: Callable[[Mapping[str, Any]], str] = quantity_of,
) -> list[list[int]]:
    """Return the positions of the rows of each family.

    Args:
        rows: the rows.
        family: ids that the rows of a family share.
        part_of: what else they share.
    """

    def family_of(i: int) -> tuple[Any, ...]:
        return part_of(rows[i]), *(rows[i][name] for name in family)

    counted = (i for i, row in enumerate(rows) if is_informative(row))
    return list(grouped(counted, family_of).values())


def adjust(
    rows: Sequence[Mapping[str, Any]],
    family: Sequence[str] = ("dataset",),
    *,
    alpha: float = DEFAULTS.alpha,
) -> list[dict[str, Any]]:
    """Correct the p-values of tests within families: those of Mann–Whitney and of signed ranks.

    Scores, and their excess over random explanations (``quantity``), are families of their own.
    """
    members = families(rows, family)
    adjusted = [dict(row) for row in rows]
    for column in ("p", "wilcoxon_p"):
        p = np.array([row.get(column, np.nan) for row in rows], dtype=np.float64)
        for name, correct in (("holm", holm), ("bh", benjamini_hochberg)):
            corrected = np.full(len(p), np.nan)
            for indices in members:
                corrected[indices] = correct(p[indices])
            for row, value in zip(adjusted, corrected.tolist(), strict=True):
                row[f"{column}_{name}"] = value
    for row in adjusted:
        row["significant_holm"] = row["p_holm"] <= alpha
        row["significant_bh"] = row["p_bh"] <= alpha
    return adjusted
