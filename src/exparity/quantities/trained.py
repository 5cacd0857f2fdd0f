"""The cells of one method and metric in every training: what is compared over trainings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from exparity.quantities.classifiers import Classifiers
from exparity.quantities.quantity import Quantity
from exparity.quantities.scores import Cell, Scores, places_of
from exparity.stats.skill import Scale
from exparity.types import FloatArray, IntArray


@dataclass(frozen=True)
class TrainedCells:
    """The scores by one method and metric, in each training.

    Attributes:
        cells: by rising seed.
        places: (n,) rising places of the examples that some training has scores of.
        uninformative: seeds that say nothing of explanations.
    """

    cells: Sequence[Cell]
    places: IntArray
    uninformative: Collection[int]

    @property
    def first(self) -> Cell:
        """The cell of the first training, which names method and metric."""
        return self.cells[0]

    @cached_property
    def informative(self) -> list[Cell]:
        """Cells of informative trainings."""
        return [cell for cell in self.cells if cell.seed not in self.uninformative]

    @cached_property
    def quantity_names(self) -> list[str]:
        """Names of what is compared; what was measured comes first."""
        return list(dict.fromkeys(name for cell in self.cells for name in cell.quantities))

    def quantities(self, name: str) -> list[Quantity]:
        """Return what is compared of the informative trainings that have it."""
        return [cell.quantities[name] for cell in self.informative if name in cell.quantities]

    def values(self, name: str, scale: Scale | None) -> FloatArray:
        """Return the (s, n) values of a quantity; NaN where a training has none, or says nothing.

        ``scale`` is None of what has no other.
        """
        values = np.full((len(self.cells), len(self.places)), np.nan)
        for row, cell in zip(values, self.cells, strict=True):
            if cell.seed not in self.uninformative and name in cell.quantities:
                row[:] = cell.laid(self.places, cell.quantities[name].values[scale])
        return values

    def shown_scale(self, name: str) -> Scale | None:
        """Return the scale on which a quantity is shown."""
        values = next(
            cell.quantities[name].values for cell in self.cells if name in cell.quantities
        )
        return next(iter(values))

    def predicted_rightly(self, model: Scores, classifiers: Classifiers) -> TrainedCells:
        """Return them of the texts that each training predicts rightly, undefined elsewhere."""
        cells = [
            cell.among(classifiers.are_right(cell.seed, model.ids_at(cell))) for cell in self.cells
        ]
        return replace(self, cells=cells)


def trained_cells(model: Scores, classifiers: Classifiers) -> Iterator[TrainedCells]:
    """Yield the cells of each method and metric; of random explanations those of the first draw."""
    cells: dict[tuple[str, str, bool], dict[int, Cell]] = defaultdict(dict)
    for cell in model.cells:
        by_seed = cells[cell.method, cell.metric, cell.draw is None]
        by_seed.setdefault(cell.seed, cell)  # the first draw
    for by_seed in cells.values():
        trained = [by_seed[seed] for seed in sorted(by_seed)]
        yield TrainedCells(trained, places_of(trained), classifiers.uninformative)
