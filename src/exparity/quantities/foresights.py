"""Outputs of classifiers for texts with parts left out, as the stage foresee writes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from exparity.artefacts.columns import records
from exparity.artefacts.files import read_artefact
from exparity.core.errors import InputError
from exparity.explanations.units import Unit
from exparity.metrics.foresight import Design, Foresight
from exparity.quantities.inputs import Lookup, cell_of, require_same_cell
from exparity.types import locked


@dataclass(frozen=True)
class ForesightRow:
    """A row of the artefact: a text."""

    example_id: str
    unit: Unit
    left_out: float
    num_masks: int
    target: int
    n_units: int
    masks: list[int]
    falls: list[float]
    ceiling: float

    @property
    def design(self) -> Design:
        """How its masks were drawn."""
        return Design(self.unit, self.left_out, self.num_masks)

    @property
    def foresight(self) -> Foresight:
        """Outputs of the classifier for the text."""
        shape = len(self.falls), self.n_units
        masks = np.unpackbits(np.array(self.masks, dtype=np.uint8), count=shape[0] * shape[1])
        left_out = locked(masks.astype(bool).reshape(shape))
        falls = locked(np.array(self.falls, dtype=np.float64))
        return Foresight(left_out, falls, self.ceiling)


def read_foresights(
    path: Path, design: Design, *others: tuple[str | Path, Mapping[str, object]]
) -> Lookup[str, tuple[int, Foresight]]:
    """Read the target and the foresight of each text by its id.

    Raises:
        InputError: the artefact is of another training than ``others``, or was drawn otherwise.
    """
    table, metadata = read_artefact(path, "foresight")
    require_same_cell(*others, (path, cell_of(metadata)))
    rows = records(ForesightRow, table)
    if rows and rows[0].design != design:
        raise InputError(
            f"{path}: has no draws of unit: {design.unit}, left_out: {design.left_out:g} and "
            f"num_masks: {design.num_masks or 'null'}; an override of a metric for a single method "
            "cannot change these, so name a second metric with them"
        )
    content = ((row.example_id, (row.target, row.foresight)) for row in rows)
    return Lookup(path, "foresight of example", content)
