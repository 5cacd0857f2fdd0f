"""Dependence of label and group: where it is strong, no gap tells one from the other."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

NAN = float("nan")


@dataclass(frozen=True)
class Dependence:
    """Cramér's V of two nominal variables.

    Attributes:
        n: examples.
        v: √(χ²/(n·(min(r, c) − 1))), from 0 (independent) to 1 (each tells the other); NaN where
            either has one value only (Cramér 1946, §21.9).
        p: p-value of Pearson's χ² test of independence, without correction for continuity.
    """

    n: int
    v: float = NAN
    p: float = NAN


def cramers_v(labels: Sequence[Hashable], groups: Sequence[Hashable]) -> Dependence:
    """Measure how far label and group depend on each other."""
    from scipy.stats import chi2_contingency
    from scipy.stats.contingency import crosstab

    counts = crosstab(labels, groups).count
    n, smaller = len(labels), min(counts.shape)
    if smaller < 2:
        return Dependence(n)
    test = chi2_contingency(counts, correction=False)
    v = min(1.0, (float(test.statistic) / (n * (smaller - 1))) ** 0.5)
    return Dependence(n, v, float(test.pvalue))


def dependence_by_split(
    labels: Sequence[Hashable], groups: Sequence[Hashable], splits: Sequence[str]
) -> dict[str, Dependence]:
    """Measure the dependence of label and group in each split, in the order of their names."""
    dependences = {}
    for split in sorted(set(splits)):
        rows = [i for i, name in enumerate(splits) if name == split]
        dependences[split] = cramers_v([labels[i] for i in rows], [groups[i] for i in rows])
    return dependences
