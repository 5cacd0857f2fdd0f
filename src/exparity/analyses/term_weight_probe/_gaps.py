"""Gaps between groups and between versions of a text, of predicted classes alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exparity.stats.rms import Sides, rate_gaps, rms
from exparity.types import BoolArray, Example, IntArray

Versions = Mapping[tuple[str, str], Sequence[Example]]
"""Counterfactuals by example_id and group of what they are made of."""


@dataclass(frozen=True, eq=False)
class TestSplit:
    """A test split and its counterfactuals.

    Attributes:
        order: names of the groups.
        classes: (c,) names of the classes.
        labels: (n,) true classes.
        groups: (n,) groups.
        texts: (n,) words.
        originals: (m,) index of the text that each counterfactual is of.
        other_groups: (m,) the counterfactuals' groups.
        counterfactuals: (m,) their words.
    """

    __test__ = False  # no class of tests

    order: Sequence[str]
    classes: Sequence[str]
    labels: IntArray
    groups: NDArray[np.str_]
    texts: Sequence[Sequence[str]]
    originals: IntArray
    other_groups: NDArray[np.str_]
    counterfactuals: Sequence[Sequence[str]]

    @classmethod
    def of(
        cls,
        examples: Sequence[Example],
        versions: Versions,
        order: Sequence[str],
        classes: Sequence[str],
    ) -> TestSplit:
        """Put examples beside their counterfactuals."""
        made = [
            (index, one)
            for index, example in enumerate(examples)
            for one in versions.get((example.example_id, example.group), ())
        ]
        return cls(
            order=order,
            classes=classes,
            labels=np.array([example.label for example in examples], dtype=np.int64),
            groups=np.array([example.group for example in examples]),
            texts=[example.words for example in examples],
            originals=np.array([index for index, _ in made], dtype=np.int64),
            other_groups=np.array([one.group for _, one in made]),
            counterfactuals=[one.words for _, one in made],
        )

    def under(self, group: str, predicted: IntArray, counterfactual: IntArray) -> IntArray:
        """Return (n,) what is predicted under do(group); −1 without a counterfactual.

        Args:
            group: the group.
            predicted: (n,) predicted class of each text.
            counterfactual: (m,) that of each counterfactual.
        """
        outcome = np.where(self.groups == group, predicted, -1)
        chosen = self.other_groups == group
        outcome[self.originals[chosen]] = counterfactual[chosen]
        return outcome


def gap_rows(
    split: TestSplit, predicted: IntArray, counterfactual: IntArray
) -> Iterator[dict[str, Any]]:
    """Yield accuracy, statistical and causal gaps by class and over classes, and flip rates.

    Args:
        split: what was predicted.
        predicted: (n,) predicted class of each text.
        counterfactual: (m,) that of each counterfactual.
    """
    yield _row("accuracy", ("", ""), float((predicted == split.labels).mean()), len(predicted))
    for pair in combinations(split.order, 2):
        kept = np.isin(split.groups, pair)
        of_second = split.groups[kept] == pair[1]
        yield from _rate_rows(split, "", pair, (of_second, split.labels[kept], predicted[kept]))
        first, second = (split.under(group, predicted, counterfactual) for group in pair)
        both = (first >= 0) & (second >= 0)
        n = int(both.sum())
        sides = np.repeat([False, True], n)
        outcomes = np.concatenate([first[both], second[both]])
        causal = sides, np.tile(split.labels[both], 2), outcomes
        yield from _rate_rows(split, "causal_", pair, causal)
        flips = float((first != second)[both].mean()) if n else math.nan
        yield _row("flip_rate", pair, flips, n)


def _rate_rows(
    split: TestSplit,
    prefix: str,
    pair: tuple[str, str],
    sides: tuple[BoolArray, IntArray, IntArray],
) -> Iterator[dict[str, Any]]:
    """Yield the gap of each rate by class, and its RMS over classes.

    Args:
        split: has the classes.
        prefix: what the names of the quantities start with.
        pair: the groups.
        sides: (r,) whether a row is of the second side, its true class and its predicted one.
    """
    second, labels, predicted = sides
    c = len(split.classes)
    units = np.arange(len(labels))
    of_sides = Sides(second, labels, predicted, units, n_classes=c, paired=False)
    of_class = np.bincount(labels, minlength=c)
    if prefix:  # each example is on both sides
        of_class //= 2
    counted = {"tpr": of_class, "fpr": of_class.sum() - of_class}
    for rate, gaps in rate_gaps(of_sides.confusion()).items():
        sizes = counted.get(rate, np.full(c, of_class.sum()))
        for name, gap, n in zip(split.classes, gaps, sizes, strict=True):
            yield _row(f"{prefix}{rate}_gap", pair, float(gap), int(n), name)
        defined = int((~np.isnan(gaps)).sum())
        yield _row(f"{prefix}{rate}_gap_rms", pair, float(rms(gaps)), defined)


def _row(
    quantity: str, pair: tuple[str, str], value: float, n: int, class_name: str = ""
) -> dict[str, Any]:
    group, group_b = pair
    return {
        "quantity": quantity,
        "group": group,
        "group_b": group_b,
        "class_name": class_name,
        "value": value,
        "n": n,
    }
