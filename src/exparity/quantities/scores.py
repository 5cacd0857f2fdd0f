"""The scores of a model on a dataset, by what is compared of them: the quantities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from exparity.artefacts.columns import Examples, laid
from exparity.artefacts.ids import Ids, Provenance
from exparity.methods.facts import RANDOM
from exparity.metrics import METRICS
from exparity.metrics.facts import MetricFacts
from exparity.quantities.inputs import model_of, read_all, require_same_cell
from exparity.quantities.limits import RemovalLimits
from exparity.quantities.quantity import Quantity, is_skill
from exparity.quantities.random_scores import RandomScores, random_by
from exparity.quantities.skill import quantities_of
from exparity.stats.samples import GroupedTexts
from exparity.stats.verdicts import HEADLINE
from exparity.types import BoolArray, FloatArray, IntArray

_CONTROLLED = ("model", "seed", "metric")
"""Ids that scores share with those of random explanations."""
NOT_RELATIVE = "not_relative"
"""Flag of scores that nothing is compared with, so that a gap may be one of the classifier."""


@dataclass(frozen=True)
class Cell:
    """The scores of one training, method and metric.

    Attributes:
        path: the file.
        metadata: of the file.
        method: the method; of random explanations too.
        draw: number of a random explanation; None of a method.
        places: (n,) numbers of its examples.
        quantities: what is compared; the first is what was measured.
        n_units: (n,) units of each text, of metrics of forward simulation alone.
        ceilings: (n,) what an additive explanation could reach, of the same.
    """

    path: Path
    metadata: Provenance
    method: str
    draw: int | None
    places: IntArray
    quantities: Mapping[str, Quantity]
    n_units: FloatArray | None = None
    ceilings: FloatArray | None = None

    @property
    def seed(self) -> int:
        """Seed of the training."""
        return self.metadata.ids.seed

    @property
    def model(self) -> str:
        """The model."""
        return self.metadata.ids.model

    @property
    def metric(self) -> str:
        """The metric."""
        return self.metadata.ids.metric

    @property
    def facts(self) -> MetricFacts | None:
        """Facts of the metric; None of one of a plug-in, which may not be loaded here."""
        use = self.metadata.use
        return METRICS.get(use).facts if use in METRICS.ids() else None

    def direction_of(self, quantity: str) -> str | None:
        """Return whether ``higher`` or ``lower`` values are better; None of an unknown metric."""
        if is_skill(quantity):
            return "higher"
        return None if self.facts is None else self.facts.direction

    def preference_of(self, quantity: str) -> str | None:
        """Return the same; None where neither is, as of a description."""
        if is_skill(quantity):
            return "higher"
        return None if self.facts is None else self.facts.preference

    @property
    def kind(self) -> str | None:
        """Property of explanations that the metric measures; None of an unknown metric."""
        return None if self.facts is None else self.facts.kind

    @property
    def measured(self) -> FloatArray:
        """(n,) what the metric gave."""
        return next(iter(self.quantities.values())).shown

    def among(self, chosen: BoolArray) -> Cell:
        """Return the cell of some of its (n,) texts, whose quantities are undefined elsewhere."""
        some = {name: quantity.among(chosen) for name, quantity in self.quantities.items()}
        return replace(self, quantities=some)

    def laid(self, places: IntArray, values: FloatArray) -> FloatArray:
        """Return values of its examples at those of rising places, NaN at the others."""
        return laid(values, np.searchsorted(places, self.places), len(places))

    @property
    def flags(self) -> Sequence[str]:
        """Those of the scores themselves."""
        has_control = self.facts is None or self.facts.needs != "explainer"
        if self.facts is not None and self.facts.scores_together:
            has_control = len(self.quantities) > 1
        return [*self.metadata.flags, *([] if has_control else [NOT_RELATIVE])]


@dataclass(frozen=True)
class Scores:
    """All scores of a model, or of some models, on a dataset.

    Attributes:
        examples: every example that has a score.
        cells: the scores by training, method and metric.
    """

    examples: Examples
    cells: Sequence[Cell]

    @property
    def metadata(self) -> Provenance:
        """Metadata of a scores artefact, which names dataset, model and groups."""
        return self.cells[0].metadata

    @property
    def ids(self) -> Ids:
        """Dataset and model."""
        return model_of(self.metadata)

    @property
    def order(self) -> Sequence[str]:
        """The groups."""
        return list(self.metadata.groups)

    def texts_at(self, places: IntArray) -> GroupedTexts:
        """Return groups and matched sets of the examples at some places, which are checked once."""
        key = places.tobytes()
        if key not in self._texts:
            groups = self.groups[places].tolist()
            self._texts[key] = GroupedTexts.of(groups, self.order, self.sets[places].tolist())
        return self._texts[key]

    @cached_property
    def _texts(self) -> dict[bytes, GroupedTexts]:
        """Groups and matched sets by the bytes of their places."""
        return {}

    def ids_at(self, cell: Cell) -> list[str]:
        """Return the ids of the examples of a cell."""
        return [self.examples.ids[place] for place in cell.places]

    @cached_property
    def groups(self) -> NDArray[np.object_]:
        """(n,) group of each example."""
        return np.array(self.examples.groups, dtype=object)

    @cached_property
    def sets(self) -> NDArray[np.object_]:
        """(n,) matched set of each example, None for one without."""
        return np.array(self.examples.sets, dtype=object)


def read_scores(
    scores: Sequence[Path],
    random_scores: Sequence[Path] | None,
    removal_limits: Sequence[Path] | None,
    models: Sequence[str] | None = None,
) -> Scores:
    """Read the scores of one model, and those of random explanations.

    Of several ``models`` on one dataset, random explanations are the control alone.
    """
    examples = Examples()
    cells: list[Cell] = []
    limits = RemovalLimits(removal_limits or ())
    random_explanations = random_by(random_scores, *_CONTROLLED)

    def cell_of(
        path: Path,
        table: pa.Table,
        metadata: Provenance,
        random: RandomScores | None,
        draw: int | None = None,
    ) -> Cell:
        return Cell(
            path,
            metadata,
            method=RANDOM if draw is not None else metadata.ids.method,
            draw=draw,
            places=examples.places(table),
            quantities=quantities_of(table, metadata, random, limits, is_drawn=draw is not None),
            n_units=_known(table, "n_units"),
            ceilings=_known(table, "ceiling"),
        )

    over = ("seed", "model") if models else ("seed",)
    for path, (table, metadata) in zip(scores, read_all("scores", scores, over=over), strict=True):
        ids = metadata.ids
        if models is None or ids.model in models:
            random = random_explanations.get(tuple(str(ids[name]) for name in _CONTROLLED))
            cells.append(cell_of(path, table, metadata, random))
    read = Scores(examples, cells)
    for random in random_explanations.values() if models is None else ():
        require_same_cell(("the scores", read.ids), (random.path, random.metadata.ids))
        for draw, table, others in random.draws():
            cells.append(cell_of(random.path, table, random.metadata, others, draw))
    return read


def places_of(cells: Sequence[Cell]) -> IntArray:
    """Return the rising places of all examples that some cells have scores of."""
    return np.unique(np.concatenate([cell.places for cell in cells]))


def covariate_of(cells: Sequence[Cell], places: IntArray) -> FloatArray | None:
    """Return (n,) what scores of one metric depend on beside what is compared; None of nothing.

    With few units, correlations of forward simulation are higher at the same noise.
    """
    if cells[0].kind != HEADLINE:
        return None
    unit_counts = [cell.laid(places, n) for cell in cells if (n := cell.n_units) is not None]
    return np.fmax.reduce(unit_counts) if unit_counts else None


def _known(table: pa.Table, name: str) -> FloatArray | None:
    """Return a column that scores may lack."""
    if name not in table.column_names:
        return None
    return np.asarray(table.column(name).to_numpy(), dtype=np.float64)
