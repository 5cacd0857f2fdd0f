"""What remedies are compared by: values of one metric on halves of the texts, by method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from exparity.core.grouping import grouped
from exparity.quantities.classifiers import Classifiers
from exparity.quantities.quantity import Quantity
from exparity.quantities.scales import over_scales, scales_of
from exparity.quantities.scores import Cell, Scores, covariate_of, places_of
from exparity.stats.crossed import crossed_tests
from exparity.stats.means import mean_of_finite
from exparity.stats.remedies import Gap, choosing_half
from exparity.stats.skill import Scale
from exparity.types import BoolArray, FloatArray, IntArray


class HalvedTexts(NamedTuple):
    """The texts that a metric has scores of, in two halves.

    Attributes:
        places: (n,) rising places among all examples of the scores.
        ids: (n,) their ids.
        groups: (n,) group of each.
        sets: (n,) matched set of each.
        order: the groups.
        chooses: (n,) whether a text is of the half that chooses.
    """

    places: IntArray
    ids: Sequence[str]
    groups: Sequence[str]
    sets: Sequence[str | None]
    order: Sequence[str]
    chooses: BoolArray

    @classmethod
    def of(cls, cells: Sequence[Cell], scores: Scores) -> HalvedTexts:
        """Return the texts of some cells, dealt out in halves."""
        places = places_of(cells)
        ids = [scores.examples.ids[place] for place in places]
        groups = scores.groups[places].tolist()
        sets = scores.sets[places].tolist()
        chooses = choosing_half(ids, groups, sets)
        return cls(places, ids, groups, sets, scores.order, chooses)

    def are_of(self, group: str) -> BoolArray:
        """Return (n,) whether each text is of a group."""
        return np.asarray(np.array(self.groups, dtype=object) == group)

    def levels(self, values: FloatArray) -> FloatArray:
        """Return the (g,) mean of (s, n) values in each group, on the half that chooses."""
        return np.array(
            [mean_of_finite(values[:, self.chooses & self.are_of(group)]) for group in self.order]
        )

    def reported(self, values: FloatArray) -> FloatArray:
        """Return (s, n) values on the half that reports, NaN on the other."""
        return np.where(self.chooses, np.nan, values)


class Compared(NamedTuple):
    """What is compared of the methods of one model by one metric.

    Attributes:
        cells: the cells of every method, by rising seed.
        quantity: name of what is compared.
        texts: the texts.
    """

    cells: Mapping[str, Sequence[Cell]]
    quantity: str
    texts: HalvedTexts

    @classmethod
    def of(cls, cells: Sequence[Cell], quantity: str, texts: HalvedTexts) -> Compared:
        """Return the cells of one metric and model by their method."""
        by_method = {
            method: sorted(several, key=lambda cell: cell.seed)
            for method, several in grouped(cells, lambda cell: cell.method).items()
        }
        return cls(by_method, quantity, texts)

    def seeds(self, method: str) -> list[int]:
        """Return the seeds of the trainings that a method explains, in the order of values."""
        return [cell.seed for cell in self.cells[method]]

    def values(self, method: str, *, chooses: bool, scale: Scale | None = None) -> FloatArray:
        """Return the (s, n) values of a method on half of the texts, as shown or on a scale."""
        rows = []
        quantities = self._on_half(method, chooses=chooses)
        for cell, quantity in zip(self.cells[method], quantities, strict=True):
            shown = quantity.shown if scale is None else quantity.values[scale]
            rows.append(cell.laid(self.texts.places, shown))
        return np.array(rows)

    def gap(self, method: str, group: str, other_group: str, *, higher_is_better: bool) -> Gap:
        """Test the gap between two groups, on the half that did not choose them."""
        quantities = self._on_half(method, chooses=False)
        covariate = covariate_of(self.cells[method], self.texts.places)
        tests = {
            scale: crossed_tests(
                list(self.values(method, chooses=False, scale=scale)),
                self.texts.groups,
                (other_group, group),
                self.texts.sets,
                covariate=covariate,
                only="p_mean",
            )
            for scale in scales_of(quantities)
        }
        ((test, _),) = over_scales(quantities, tests)
        sign = 1.0 if higher_is_better else -1.0
        return Gap(sign * test.estimate, test.p_mean)

    def accuracy(self, classifiers: Classifiers, seeds: Sequence[int], group: str) -> float:
        """Return the share of a group's texts of the half that reports that trainings get right."""
        reports = ~self.texts.chooses & self.texts.are_of(group)
        if not (seeds and reports.any()):
            return np.nan
        right = [classifiers.are_right(seed, self.texts.ids)[reports] for seed in seeds]
        return float(np.mean(right))

    def _on_half(self, method: str, *, chooses: bool) -> list[Quantity]:
        """Return what is compared of a method in each training, on half of the texts."""
        half = self.texts.chooses if chooses else ~self.texts.chooses
        return [
            cell.quantities[self.quantity].among(
                half[np.searchsorted(self.texts.places, cell.places)]
            )
            for cell in self.cells[method]
        ]
