"""The levels of each group: a row per method, metric, quantity and group."""

from __future__ import annotations

from collections.abc import Iterator

from exparity.artefacts.columns import Row
from exparity.core.settings import Statistics
from exparity.quantities.classifiers import Classifiers
from exparity.quantities.scores import Scores
from exparity.quantities.trained import trained_cells
from exparity.stats.levels import group_levels


def level_rows(model: Scores, settings: Statistics, classifiers: Classifiers) -> Iterator[Row]:
    """Yield the rows of every method and metric, and of the first random explanation."""
    for trained in trained_cells(model, classifiers):
        groups = model.groups[trained.places].tolist()
        first = trained.first
        for quantity in trained.quantity_names:
            values = trained.values(quantity, trained.shown_scale(quantity))
            facts = {
                "method": first.method,
                "metric": first.metric,
                "quantity": quantity,
                "metric_kind": first.kind,
                "metric_direction": first.direction_of(quantity),
            }
            for level in group_levels(values, groups, model.order, confidence=settings.confidence):
                if level.n_texts:
                    yield {**facts, **vars(level)}
