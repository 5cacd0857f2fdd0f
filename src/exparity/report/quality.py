"""How good the classifiers are, for each group: confusion matrices and ROC curves over seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from exparity.core.grouping import grouped
from exparity.report.gather import Study
from exparity.report.rows import ClassifierBias
from exparity.types import FloatArray

MOST_CLASSES = 6
"""Classes of a dataset up to which the page draws its matrices and curves."""


@dataclass(frozen=True)
class Confusion:
    """A confusion matrix: means over seeds.

    Attributes:
        model: the classifier.
        group: the group; empty for all examples.
        classes: names of the classes.
        counts: (c, c) examples by true and predicted class, a mean over seeds.
    """

    model: str
    group: str
    classes: Sequence[str]
    counts: FloatArray

    @property
    def shares(self) -> FloatArray:
        """(c, c) shares of each true class, in [0, 1]; NaN where it has no example."""
        totals = self.counts.sum(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):
            return np.asarray(self.counts / totals)

    def rows(self) -> Iterator[tuple[str, list[tuple[float, float]]]]:
        """Yield each true class with the count and share of each predicted one."""
        for name, counts, shares in zip(self.classes, self.counts, self.shares, strict=True):
            yield name, list(zip(counts.tolist(), shares.tolist(), strict=True))


@dataclass(frozen=True)
class RocCurve:
    """The ROC curve of one training, group and class; rates in [0, 1]."""

    model: str
    seed: int
    group: str
    class_name: str
    auc: float
    fpr: Sequence[float]
    tpr: Sequence[float]

    @classmethod
    def of(cls, row: ClassifierBias) -> RocCurve:
        """Return the curve of a row on the area under it."""
        ids = (row.model, row.seed, row.group, row.class_name)
        return cls(*ids, row.value, row.roc_fpr, row.roc_tpr)


@dataclass(frozen=True)
class QualityTable:
    """What is known of the classifiers of one dataset."""

    dataset: str
    attribute: str
    groups: Sequence[str]
    classes: Sequence[str]
    models: Sequence[str]
    matrices: Sequence[Confusion]
    curves: Sequence[RocCurve]

    @property
    def shown_classes(self) -> Sequence[str]:
        """Classes that a plot is of: the second of two, or each."""
        return self.classes[1:] if len(self.classes) == 2 else self.classes

    @property
    def is_drawn(self) -> bool:
        """Whether the page has room for its matrices and curves."""
        return len(self.classes) <= MOST_CLASSES

    @property
    def parts(self) -> Sequence[str]:
        """The groups, and an empty name for all examples."""
        return (*self.groups, "")

    def plot(self, model: str, class_name: str) -> list[RocCurve]:
        """Return the curves of a model and class, all seeds of every group and of all examples."""
        return [
            curve for curve in self.curves if (curve.model, curve.class_name) == (model, class_name)
        ]

    def drawn(self, model: str, class_name: str) -> list[str]:
        """Return the groups that have a curve; the others have examples of one class only."""
        with_curve = {curve.group for curve in self.plot(model, class_name)}
        return [group for group in self.parts if group in with_curve]

    def mean_auc(self, model: str, class_name: str, group: str) -> float:
        """Return the mean over seeds of a group's area."""
        areas = [c.auc for c in self.plot(model, class_name) if c.group == group]
        return float(np.mean(areas))

    def of_model(self, model: str) -> list[Confusion]:
        """Return the matrices of a model: of all examples, and of each group."""
        return [matrix for matrix in self.matrices if matrix.model == model]


def quality_tables(study: Study) -> list[QualityTable]:
    """Return a table for each dataset of a study, in the order of the config."""
    tables = []
    by_dataset = grouped(study.bias, attrgetter("dataset"))
    for dataset, models in study.models.items():
        declared = study.declared(dataset)
        rows = by_dataset.get(dataset, [])
        matrices = list(_matrices(rows, models, declared.groups, declared.classes))
        drawn = [RocCurve.of(row) for row in rows if row.quantity == "auc" and row.roc_fpr]
        if matrices:
            facts = declared.attribute, declared.groups, declared.classes, models
            tables.append(QualityTable(dataset, *facts, matrices, drawn))
    return tables


def _matrices(
    rows: Sequence[ClassifierBias],
    models: Sequence[str],
    groups: Sequence[str],
    classes: Sequence[str],
) -> Iterator[Confusion]:
    """Yield the matrix of every model and group, all examples first."""
    by_cell = grouped(
        (row for row in rows if row.quantity == "tpr"),
        attrgetter("model", "group", "class_name"),
    )
    for model in models:
        for group in ("", *groups):
            lines = [
                [row.predicted_counts for row in by_cell.get((model, group, name), [])]
                for name in classes
            ]
            if all(lines):
                counts = np.array([np.mean(line, axis=0) for line in lines])
                yield Confusion(model, group, classes, counts)
