"""Dependence of label and group: where it is strong, no gap tells one from the other."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence


def cramers_v(labels: Sequence[Hashable], groups: Sequence[Hashable]) -> float:
    """Return Cramér's V of label and group (Cramér 1946, §21.9).

    It is √(χ²/(n·(min(r, c) − 1))), from 0 (independent) to 1 (each tells the other); NaN where
    either has one value only.
    """
    from scipy.stats.contingency import association, crosstab

    counts = crosstab(labels, groups).count
    return float(association(counts, method="cramer")) if min(counts.shape) > 1 else math.nan


def cramers_v_by_split(
    labels: Sequence[Hashable], groups: Sequence[Hashable], splits: Sequence[str]
) -> dict[str, float]:
    """Return Cramér's V of label and group in each split, in the order of their names."""
    values = {}
    for split in sorted(set(splits)):
        rows = [i for i, name in enumerate(splits) if name == split]
        values[split] = cramers_v([labels[i] for i in rows], [groups[i] for i in rows])
    return values
