"""Dependence of label and group: where it is strong, no gap tells one from the other."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

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

    rows, columns = (list(dict.fromkeys(values)) for values in (labels, groups))
    n, smaller = len(labels), min(len(rows), len(columns))
    if smaller < 2:
        return Dependence(n)
    counts = np.zeros((len(rows), len(columns)))
    places = [{value: i for i, value in enumerate(values)} for values in (rows, columns)]
    for label, group in zip(labels, groups, strict=True):
        counts[places[0][label], places[1][group]] += 1
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
