"""How well a classifier separates the classes, for each group: AUC, ROC curves and F1.

Each class is one against all others; rows without a class are the mean over classes. Values are
those of scikit-learn. ``docs/bias.md`` has the formulas and conventions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from exparity.stats.predictions import BiasRow, Predictions
from exparity.types import BoolArray, FloatArray

# Points of a curve that are kept; between them it is straight.
_MOST_POINTS = 200
_Measure = Callable[[Predictions, BoolArray, int], BiasRow]


class Curve(NamedTuple):
    """ROC curve: (k,) false and true positive rates, from (0, 0) to (1, 1)."""

    false_positives: FloatArray
    true_positives: FloatArray

    @property
    def area(self) -> float:
        """The area under it, in [0, 1]; 0.5 by chance."""
        return float(np.trapezoid(self.true_positives, self.false_positives))

    def thinned(self, most: int = _MOST_POINTS) -> Curve:
        """Return at most ``most`` + 1 of its points, at equal steps of both rates together."""
        if len(self.false_positives) <= most:
            return self
        along = self.false_positives + self.true_positives
        kept = np.unique(np.searchsorted(along, np.linspace(0, along[-1], most)))
        kept = np.union1d(kept, [0, len(along) - 1])
        return Curve(self.false_positives[kept], self.true_positives[kept])


def quality_rows(data: Predictions) -> list[BiasRow]:
    """Return AUC and F1 of all examples and of each group, and their gaps between groups."""
    rows: list[BiasRow] = []
    for measure in (_auc, _f1):
        by_group = {group: _of_group(data, group, measure) for group in ("", *data.order)}
        for measured in by_group.values():
            rows += measured
        for a, b in combinations(data.order, 2):
            pairs = zip(by_group[a], by_group[b], strict=True)
            rows += [_gap(first, second) for first, second in pairs]
    return rows


def roc_curve_of(is_positive: BoolArray, probabilities: FloatArray) -> Curve | None:
    """Return the curve of one class against all others; None if one of both has no example."""
    from sklearn.metrics import roc_curve

    if is_positive.all() or not is_positive.any():
        return None
    false_positives, true_positives, _ = roc_curve(is_positive, probabilities)
    return Curve(false_positives, true_positives)


def _of_group(data: Predictions, group: str, measure: _Measure) -> list[BiasRow]:
    """Return a quantity of every class of a group, and their mean after them."""
    members = data.members(group)
    by_class = [measure(data, members, c) for c in range(len(data.classes))]
    rows = [
        replace(row, group=group, class_name=name)
        for row, name in zip(by_class, data.classes, strict=True)
    ]
    return [*rows, _mean_over_classes(rows)]


def _auc(data: Predictions, members: BoolArray, c: int) -> BiasRow:
    probabilities = data.probabilities[members, c]
    defined = ~np.isnan(probabilities)
    flags = () if defined.all() else ("undefined_values",)
    is_positive = data.labels[members] == c
    curve = roc_curve_of(is_positive[defined], probabilities[defined])
    n = int(defined.sum())
    if curve is None:
        flags = (*flags, "one_class" if n else "no_examples")
        return BiasRow("auc", "", "", "", np.nan, n, flags=flags)
    shown = curve.thinned()
    return BiasRow(
        "auc",
        *("", "", ""),
        curve.area,
        n,
        flags=flags,
        roc_fpr=tuple(shown.false_positives.tolist()),
        roc_tpr=tuple(shown.true_positives.tolist()),
    )


def _f1(data: Predictions, members: BoolArray, c: int) -> BiasRow:
    is_positive = data.labels[members] == c
    says = data.predicted[members] == c
    n = len(says)
    if not is_positive.any():
        return BiasRow("f1", "", "", "", np.nan, n, flags=("no_examples",))
    hits = int((is_positive & says).sum())
    return BiasRow("f1", "", "", "", 2 * hits / int(is_positive.sum() + says.sum()), n)


def _mean_over_classes(rows: Sequence[BiasRow]) -> BiasRow:
    """Return the mean over the classes where a quantity is defined."""
    defined = [row.value for row in rows if row.value == row.value]
    mean = float(np.mean(defined)) if defined else np.nan
    flags = {flag for row in rows for flag in row.flags if flag == "undefined_values"}
    if len(defined) < len(rows):
        flags.add("classes_left_out" if defined else rows[0].flags[-1])
    first = rows[0]
    return BiasRow(first.quantity, first.group, "", "", mean, first.n, flags=tuple(sorted(flags)))


def _gap(first: BiasRow, second: BiasRow) -> BiasRow:
    flags = tuple(sorted({*first.flags, *second.flags}))
    name = f"{first.quantity}_gap"
    value = first.value - second.value
    groups = first.group, second.group
    return BiasRow(name, *groups, first.class_name, value, first.n + second.n, flags=flags)
