"""The levels of each group: a row per method, metric, quantity and group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from exparity.artefacts.columns import Row
from exparity.core.settings import Statistics
from exparity.quantities.classifiers import Classifiers
from exparity.quantities.scores import Cell, Scores, places_of
from exparity.stages.compare._trainings import cells_by_training, values_over
from exparity.stats.levels import group_levels
from exparity.stats.skill import Scale


def level_rows(model: Scores, settings: Statistics, classifiers: Classifiers) -> Iterator[Row]:
    """Yield the rows of every method and metric, and of the first random explanation."""
    for cells in cells_by_training(model):
        places = places_of(cells)
        groups = model.groups[places].tolist()
        for quantity in dict.fromkeys(name for cell in cells for name in cell.quantities):
            scale = _shown_scale(cells, quantity)
            values = values_over(cells, places, quantity, classifiers.uninformative, scale)
            first = cells[0]
            facts = {
                "method": first.method,
                "metric": first.metric,
                "quantity": quantity,
                "metric_kind": first.kind,
                "metric_direction": first.direction_of(quantity),
            }
            for level in group_levels(values, groups, model.order, confidence=settings.confidence):
                if level.n_texts:
                    yield {**facts, **asdict(level)}


def _shown_scale(cells: Sequence[Cell], quantity: str) -> Scale | None:
    """Return the scale on which a quantity is shown."""
    values = next(cell.quantities[quantity].values for cell in cells if quantity in cell.quantities)
    return next(iter(values))
