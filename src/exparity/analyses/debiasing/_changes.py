"""Changes of gaps from a base model to a recipe, by method and metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from exparity.core.errors import InputError
from exparity.core.grouping import grouped
from exparity.stages.compare import Cell, Scores
from exparity.stages.skill import SCORED_ALIKE, over_scales, scales_of
from exparity.stats.gap_change import GapChanges, gap_changes


def rows_of_changes(
    scores: Scores,
    base: str,
    recipe: str,
    collapsed: set[tuple[str, int]],
    options: Mapping[str, Any],
) -> Iterator[dict[str, Any]]:
    """Yield the changes of a recipe: in each training, and in all together without a seed.

    Args:
        scores: those of both models.
        base: the model without debiasing.
        recipe: the debiased model.
        collapsed: model and seed of the classifiers that predict one class.
        options: those of :func:`~exparity.stats.gap_change.gap_changes`.
    """
    of_metrics = grouped(scores.cells, lambda cell: (cell.method, cell.metric))
    for (method, metric), own in of_metrics.items():
        cells = {(cell.metadata["wildcards"]["model"], cell.seed): cell for cell in own}
        seeds = sorted(s for model, s in cells if model == recipe and (base, s) in cells)
        pairs = [(cells[recipe, seed], cells[base, seed]) for seed in seeds]
        left_out = [bool({(recipe, seed), (base, seed)} & collapsed) for seed in seeds]
        every = [cell for pair in pairs for cell in pair]
        of_cells = [flag for cell in every for flag in cell.metadata.get("flags", [])]
        ids = {"model": recipe, "base": base, "method": method, "metric": metric}
        for pair in pairs:
            _require_scored_alike(*pair)
        for quantity in dict.fromkeys(name for cell in every for name in cell.quantities):
            for changes in _changes(scores, quantity, pairs, left_out, options):
                for seed, change, is_left_out in (
                    *zip(seeds, changes.of_seeds, left_out, strict=True),
                    (None, changes.over_seeds, all(left_out)),
                ):
                    if quantity == "score" or change.n_seeds:
                        flags = [*change.flags, *["collapsed"] * is_left_out, *of_cells]
                        row = {**ids, **asdict(change), "quantity": quantity, "seed": seed}
                        yield {**row, "flags": list(dict.fromkeys(flags))}


def _changes(
    scores: Scores,
    quantity: str,
    pairs: Sequence[tuple[Cell, Cell]],
    left_out: Sequence[bool],
    options: Mapping[str, Any],
) -> list[GapChanges]:
    """Return the changes of a quantity between every two groups; of skill on all scales."""
    examples = scores.examples
    cells = [cell for pair in pairs for cell in pair if quantity in cell.quantities]
    each = [cell.quantities[quantity] for cell in cells]
    by_scale = {}
    for scale in scales_of(each):
        values = np.full((2, len(pairs), len(examples)), np.nan)
        for s, pair in enumerate(pairs):
            for m, cell in enumerate(pair):
                if quantity in cell.quantities and not left_out[s]:
                    values[m, s, cell.places] = cell.quantities[quantity].values[scale]
        by_scale[scale] = gap_changes(
            values[0], values[1], examples.groups, scores.order, examples.sets, **options
        )
    over_seeds = {scale: [one.over_seeds for one in own] for scale, own in by_scale.items()}
    tests = over_scales(each, over_seeds, "change")
    shown = next(iter(by_scale.values()))
    return [one._replace(over_seeds=test) for one, (test, _) in zip(shown, tests, strict=True)]


def _require_scored_alike(own: Cell, of_base: Cell) -> None:
    settings = [[one.metadata["parameters"].get(k) for k in SCORED_ALIKE] for one in (own, of_base)]
    if settings[0] != settings[1]:
        raise InputError(
            f"{own.path}: was scored with other options than {of_base.path}; give the metric the "
            "same options for both models"
        )
