"""Explanation performance: what a metric of correctness gives on which sentences.

The published benchmark reports it on the sentences that the classifier gets right, and on all
(Wilming et al. 2024, section 3.1 and figure 9).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exparity.interface import BoolArray, FloatArray

SUBSETS = ("all", "correct", "correct_sets")
"""All examples; those that are classified correctly; those of sets that wholly are."""


@dataclass(frozen=True)
class Performance:
    """Scores of one method on some of the examples.

    Attributes:
        subset: which of them, of :data:`SUBSETS`.
        group: of which group; empty for all.
        n: scores that are defined.
        n_undefined: scores that are not.
        mean: their mean; NaN if there is none.
        sd: their standard deviation, dividing by n − 1; NaN for fewer than two.
        median: their median; NaN if there is none.
    """

    subset: str
    group: str
    n: int
    n_undefined: int
    mean: float
    sd: float
    median: float


def performance(
    scores: Sequence[float] | FloatArray,
    right: Sequence[bool] | BoolArray,
    groups: Sequence[str],
    order: Sequence[str],
    sets: Sequence[str | None] | None = None,
) -> list[Performance]:
    """Describe scores, over all groups and in each.

    Args:
        scores: (n,) one per example; NaN where undefined.
        right: (n,) whether each example is classified correctly.
        groups: (n,) each example's group.
        order: the groups.
        sets: (n,) the matched set of each example, or None where it has none.

    Returns:
        One per subset and group. ``correct_sets`` is left out if there are no sets; an example
        without one is none of it.
    """
    values = np.asarray(scores, dtype=np.float64)
    correct = np.asarray(right, dtype=bool)
    names = np.asarray(groups, dtype=object)
    masks = {"all": np.ones(len(values), bool), "correct": correct}
    if sets is not None and any(match is not None for match in sets):
        masks["correct_sets"] = _of_correct_sets(correct, sets)
    return [
        _described(subset, group, values[mask & (names == group)] if group else values[mask])
        for subset, mask in masks.items()
        for group in ("", *order)
    ]


def _of_correct_sets(correct: BoolArray, sets: Sequence[str | None]) -> BoolArray:
    wrong = {match for match, right in zip(sets, correct, strict=True) if not right}
    return np.array([match is not None and match not in wrong for match in sets], dtype=bool)


def _described(subset: str, group: str, scores: FloatArray) -> Performance:
    defined = scores[~np.isnan(scores)]
    return Performance(
        subset=subset,
        group=group,
        n=len(defined),
        n_undefined=len(scores) - len(defined),
        mean=float(defined.mean()) if len(defined) else np.nan,
        sd=float(defined.std(ddof=1)) if len(defined) > 1 else np.nan,
        median=float(np.median(defined)) if len(defined) else np.nan,
    )
