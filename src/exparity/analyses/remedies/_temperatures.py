"""Scores as they would be if a classifier had a temperature for each group, in closed form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from exparity.artefacts.files import read_artefact
from exparity.explanations.units import Unit
from exparity.quantities.inputs import Prediction
from exparity.quantities.limits import RemovalLimits, Training
from exparity.quantities.quantity import Quantity
from exparity.quantities.random_scores import RandomScores
from exparity.quantities.scores import Cell
from exparity.quantities.skill import quantities_of
from exparity.stats.skill import Limits
from exparity.stats.temperature import log_odds_of, recalibrated, temperature_of
from exparity.types import Falls, FloatArray

_ROUNDING = 1e-6
"""Difference of a score from the mean of its falls up to which it is that mean."""


class Sureness(NamedTuple):
    """How sure a classifier is of the explained class of a text, and the temperature of its group.

    Attributes:
        log_odds: of the explained class.
        temperature: of the group of the text.
    """

    log_odds: float
    temperature: float

    def of(self, falls: Falls) -> Falls:
        """Return falls with the temperature."""
        return recalibrated(falls, self.log_odds, self.temperature)


def surenesses(
    predictions: Sequence[Prediction], targets: Mapping[str, int], chooses: Mapping[str, bool]
) -> dict[str, Sureness]:
    """Return those of the texts of a training by id; temperatures are of the half that chooses.

    Args:
        predictions: of the classifier.
        targets: explained class of each text by id.
        chooses: whether a text is of the half that chooses, by id.
    """
    explained_rows = [
        row for row in predictions if row.example_id in targets and row.example_id in chooses
    ]
    temperatures = {}
    for group in {row.group for row in explained_rows}:
        fitted = [row for row in explained_rows if row.group == group and chooses[row.example_id]]
        temperatures[group] = temperature_of(
            np.array([row.probabilities for row in fitted]), [row.label for row in fitted]
        )
    probabilities = np.array([row.probabilities for row in explained_rows])
    log_odds = log_odds_of(probabilities, [targets[row.example_id] for row in explained_rows])
    return {
        row.example_id: Sureness(value, temperatures[row.group])
        for row, value in zip(explained_rows, log_odds.tolist(), strict=True)
    }


class RecalibratedLimits(RemovalLimits):
    """Limits of removal with a temperature for each group."""

    def __init__(self, limits: RemovalLimits, sure: Mapping[str, Sureness]) -> None:
        self._limits_before = limits
        self._sure = sure
        self.of = cache(self._recalibrated)

    def __contains__(self, training: Training) -> bool:
        return training in self._limits_before

    def _recalibrated(
        self, training: Training, unit: Unit, example: str, *, higher_is_better: bool
    ) -> Limits:
        before = self._limits_before.of(training, unit, example, higher_is_better=higher_is_better)
        sure = self._sure[example]
        return Limits(
            sure.of(before.random),
            sure.of(before.reference),
            higher_is_better=higher_is_better,
            counting=before.counting,
        )


def recalibrated_cell(
    cell: Cell, random: RandomScores | None, limits: RemovalLimits, sure: Mapping[str, Sureness]
) -> Cell | None:
    """Return the scores of a training with a temperature for each group.

    None where scores are no means of stored falls, so that they cannot be had without the model.
    """
    table, metadata = read_artefact(cell.path, "scores")
    after = _recalibrated_table(table, sure)
    if after is None:
        return None
    random_table = None if random is None else _recalibrated_table(random.table, sure)
    random_after = random
    if random is not None and random_table is not None:
        random_after = RandomScores.of(random.path, random.metadata, random_table)
    quantities: dict[str, Quantity] = quantities_of(after, metadata, random_after, limits)
    if random_table is None:  # skill needs the limits alone
        quantities.pop("excess", None)
    return replace(cell, quantities=quantities)


def _recalibrated_table(table: pa.Table, sure: Mapping[str, Sureness]) -> pa.Table | None:
    """Return scores and falls with a temperature; None where scores are no means of falls."""
    names = ("sizes", "falls", "falls_log_odds")
    if not {*names} <= {*table.column_names}:
        return None
    ids = table.column("example_id").to_pylist()
    scores = table.column("score").to_numpy().copy()
    columns = [table.column(name).to_pylist() for name in names]
    after: list[Falls] = []
    for row, (example, sizes, falls, log_odds) in enumerate(zip(ids, *columns, strict=True)):
        before = Falls(np.array(sizes or ()), _floats(falls), _floats(log_odds))
        if not before.probability.size:
            after.append(before)
            continue
        if not abs(before.probability.mean() - scores[row]) <= _ROUNDING:
            return None
        after.append(sure[example].of(before))
        scores[row] = after[-1].probability.mean()
    changed = {
        "score": pa.array(scores),
        "falls": pa.array([falls.probability.tolist() for falls in after]),
        "falls_log_odds": pa.array([falls.log_odds.tolist() for falls in after]),
    }
    for name, column in changed.items():
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def _floats(values: Sequence[float] | None) -> FloatArray:
    return np.array(values or (), dtype=np.float64)
