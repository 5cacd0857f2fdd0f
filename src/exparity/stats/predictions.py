"""The predictions of one classifier, and one row of what is measured of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exparity.stats.samples import plain_ids, set_index
from exparity.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class BiasRow:
    """One quantity of one classifier.

    Attributes:
        quantity: ``accuracy``, ``tpr``, ``apd``, ...; see ``docs/bias.md``.
        group: the group, or the first of two; empty for all examples.
        group_b: the second of two groups; else empty.
        class_name: the class that counts as positive, or whose probability is compared; empty
            where there is none.
        value: the quantity; NaN where undefined.
        n: what it is computed from: examples, matched sets for ``apd``, classes for an RMS.
        ci_low, ci_high: ends of its interval; NaN where there is none.
        flags: what to know before using the row.
        predicted_counts: of a ``tpr``, how many of its examples are predicted as each class: a row
            of the confusion matrix. Else empty.
        roc_fpr, roc_tpr: of an ``auc``, false and true positive rates along the ROC curve. Else
            empty.
    """

    quantity: str
    group: str
    group_b: str
    class_name: str
    value: float
    n: int
    ci_low: float = np.nan
    ci_high: float = np.nan
    flags: tuple[str, ...] = ()
    predicted_counts: tuple[int, ...] = ()
    roc_fpr: tuple[float, ...] = ()
    roc_tpr: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class Predictions:
    """The predictions of one classifier as arrays.

    Attributes:
        labels: (n,) true class.
        predicted: (n,) predicted class.
        probabilities: (n, c).
        groups: (n,) index of the group.
        sets: (n,) index of the matched set, one of its own for an example without; None if no
            example has one.
        order, classes: names of the groups, none where there are none, and of the classes.
    """

    labels: IntArray
    predicted: IntArray
    probabilities: FloatArray
    groups: IntArray
    sets: IntArray | None
    order: Sequence[str]
    classes: Sequence[str]

    def __len__(self) -> int:
        return len(self.labels)

    def members(self, group: str) -> BoolArray:
        """Return an (n,) mask: the examples of a group, or all for an empty name."""
        if not group:
            return np.ones(len(self), dtype=bool)
        return np.asarray(self.groups == self.order.index(group))


def predictions_of(
    labels: Sequence[int],
    predicted: Sequence[int],
    probabilities: Sequence[Sequence[float]] | FloatArray,
    groups: Sequence[str],
    order: Sequence[str],
    classes: Sequence[str],
    pairs: Sequence[str | None] | None = None,
) -> Predictions:
    """Return predictions as arrays."""
    index = {group: i for i, group in enumerate(order or [""])}
    return Predictions(
        labels=np.array(labels, dtype=np.int64),
        predicted=np.array(predicted, dtype=np.int64),
        probabilities=np.array(probabilities, dtype=np.float64),
        groups=np.array([index[group] for group in groups], dtype=np.int64),
        sets=set_index(plain_ids(pairs), np.ones(len(labels), dtype=bool)),
        order=list(order),
        classes=list(classes),
    )
