"""Models beside their base: from scores to the rows of the debiasing artefact."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from exparity.analyses.debiasing._scored import Scored, ScoredCell
from exparity.core.errors import InputError
from exparity.stages.quantities import over_scales, scales_of
from exparity.stages.skill import SCORED_ALIKE
from exparity.stats.gap_change import GapChanges, gap_changes
from exparity.types import FloatArray


class RecipeComparison:
    """The models of a dataset beside their base.

    Args:
        scored: their scores.
        base: the model without debiasing.
        options: of :func:`~exparity.stats.gap_change.gap_changes`.
    """

    def __init__(self, scored: Scored, base: str, options: Mapping[str, Any]) -> None:
        self._scored, self._base, self._options = scored, base, options

    def rows(self, recipe: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of a recipe: of each training, and of all together without a seed."""
        cells = self._scored.cells
        shared = [
            cell[1:] for cell in cells if cell[0] == recipe and (self._base, *cell[1:]) in cells
        ]
        for method, metric in dict.fromkeys(cell[:2] for cell in shared):
            seeds = sorted(seed for *of, seed in shared if of == [method, metric])
            named = {"model": recipe, "base": self._base, "method": method, "metric": metric}
            trainings = [
                (cells[recipe, method, metric, seed], cells[self._base, method, metric, seed])
                for seed in seeds
            ]
            collapsed = [
                bool({(recipe, seed), (self._base, seed)} & self._scored.collapsed)
                for seed in seeds
            ]
            for row in self._compared(seeds, trainings, collapsed):
                yield {**named, **row}

    def _compared(
        self,
        seeds: Sequence[int],
        trainings: Sequence[tuple[ScoredCell, ScoredCell]],
        collapsed: Sequence[bool],
    ) -> Iterator[dict[str, Any]]:
        """Yield the rows of one recipe, method and metric."""
        flags: dict[str, None] = {}
        for pair in trainings:
            _require_scored_alike(*pair)
            for cell in pair:
                flags |= dict.fromkeys(cell.metadata.get("flags", []))
        quantities = dict.fromkeys(
            name for pair in trainings for one in pair for name in one.quantities.shown
        )
        measured = {name: self._measured(name, trainings, collapsed) for name in quantities}
        for of_pair in zip(*measured.values(), strict=True):
            for quantity, changes in zip(measured, of_pair, strict=True):
                for seed, own, is_collapsed in zip(
                    [*seeds, None],
                    [*changes.of_seeds, changes.over_seeds],
                    [*collapsed, all(collapsed)],
                    strict=True,
                ):
                    if quantity == "score" or own.n_seeds:
                        row = {"quantity": quantity, "seed": seed, **asdict(own)}
                        row["flags"] = [*own.flags, *["collapsed"] * is_collapsed, *flags]
                        yield row

    def _measured(
        self,
        quantity: str,
        trainings: Sequence[tuple[ScoredCell, ScoredCell]],
        collapsed: Sequence[bool],
    ) -> list[GapChanges]:
        """Return the changes of a quantity between every two groups, of skill on all scales."""
        skills = [
            cell.quantities.skill
            for pair in trainings
            for cell in pair
            if cell.quantities.skill and quantity == "skill"
        ]
        changes = {}
        for scale in scales_of(skills):
            values = np.full((2, len(trainings), len(self._scored.examples)), np.nan)
            for s, pair in enumerate(trainings):
                for m, cell in enumerate(pair):
                    if quantity in cell.quantities.shown and not collapsed[s]:
                        values[m, s, cell.places] = cell.quantities.values(quantity, scale)
            changes[scale] = self._changes(*values)
        over_seeds = {scale: [pair.over_seeds for pair in own] for scale, own in changes.items()}
        tests = over_scales(skills, over_seeds, "change")
        shown = next(iter(changes.values()))
        return [pair._replace(over_seeds=one) for pair, (one, _) in zip(shown, tests, strict=True)]

    def _changes(self, values: FloatArray, base_values: FloatArray) -> list[GapChanges]:
        """Compare (s, n) scores of all examples by two models."""
        examples, order = self._scored.examples, self._scored.facts["groups"]
        return gap_changes(
            values, base_values, examples.groups, order, examples.sets, **self._options
        )


def _require_scored_alike(own: ScoredCell, of_base: ScoredCell) -> None:
    settings = [[one.metadata["parameters"].get(k) for k in SCORED_ALIKE] for one in (own, of_base)]
    if settings[0] != settings[1]:
        raise InputError(
            f"{own.path}: was scored with other options than {of_base.path}; give the metric the "
            "same options for both models"
        )
