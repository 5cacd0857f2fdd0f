"""The scores of several models on one dataset, and what is said of them beside random ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from exparity.artefacts.columns import Examples
from exparity.artefacts.files import read_artefact
from exparity.stages.cell import require_same_cell
from exparity.stages.quantities import Quantities
from exparity.stages.skill import Controls, controls_by_model, random_by
from exparity.types import IntArray

Cell = tuple[str, str, str, int]
"""Model, method, metric and seed."""


@dataclass(frozen=True)
class ScoredCell:
    """The scores of one cell.

    Attributes:
        path: the file.
        places: (n,) numbers of its examples.
        quantities: what is compared of them.
        metadata: of the file.
    """

    path: Path
    places: IntArray
    quantities: Quantities
    metadata: Mapping[str, Any]


class Scored:
    """The scores of some models on one dataset.

    Args:
        models: which.
        scores: scores artefacts, of these and maybe of others.
        random_scores: those of random explanations.
        removal_limits: removal_limits artefacts of the dataset, for the skill of explanations.
        bias: bias artefacts of the models.

    Attributes:
        examples: all examples that have a score.
        cells: by model, method, metric and seed.
        collapsed: model and seed of the classifiers that predict one class.
        facts: metadata of the first scores.
    """

    def __init__(
        self,
        models: Sequence[str],
        scores: Sequence[Path],
        random_scores: Sequence[Path],
        removal_limits: Sequence[Path],
        bias: Sequence[Path],
    ) -> None:
        self._controls = controls_by_model(removal_limits)
        self._random = random_by(random_scores, "model", "metric", "seed")
        self.examples = Examples()
        self.cells: dict[Cell, ScoredCell] = {}
        self.facts: Mapping[str, Any] = {}
        self.collapsed = {
            (str(row["model"]), int(row["seed"]))
            for path in bias
            for row in read_artefact(path, "bias")[0].to_pylist()
            if "collapsed" in row["flags"]
        }

        for path in scores:
            table, metadata = read_artefact(path, "scores")
            if metadata["wildcards"]["model"] in models:
                self._add(path, table, metadata)

    def _add(self, path: Path, table: pa.Table, metadata: Mapping[str, Any]) -> None:
        ids = metadata["wildcards"]
        self.facts = self.facts or metadata
        first, own = ({"dataset": one["wildcards"]["dataset"]} for one in (self.facts, metadata))
        require_same_cell(("the first file", first), (path, own))
        cell = str(ids["model"]), str(ids["method"]), str(ids["metric"]), int(ids["seed"])
        random = self._random.get((cell[0], cell[2], str(cell[3])))
        controls = self._controls.get(cell[0]) or Controls(())
        quantities = Quantities.of(table, metadata, random, controls)
        places = self.examples.places(table)
        self.cells[cell] = ScoredCell(path, places, quantities, metadata)
