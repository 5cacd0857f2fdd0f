"""Models beside their base: from scores to the rows of the debiasing artefact."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from exparity.analyses.debiasing._scored import NAN, Scored, ScoredCell
from exparity.core.errors import InputError
from exparity.stages.excess import SCORED_ALIKE
from exparity.stats.gap_change import GapChange, GapChanges, gap_changes
from exparity.stats.skill import Scale, on_all_scales
from exparity.types import BoolArray, FloatArray, IntArray


class RecipeComparison:
    """The models of a dataset beside their base.

    Args:
        scored: their scores.
        base: the model without debiasing.
        gap: rate whose gaps stand for a classifier's bias.
        options: of :func:`~exparity.stats.gap_change.gap_changes`.
    """

    def __init__(self, scored: Scored, base: str, gap: str, options: Mapping[str, Any]) -> None:
        self._scored, self._base, self._options = scored, base, options
        self._gaps = {"statistical": f"{gap}_gap_rms", "causal": f"causal_{gap}_gap_rms"}
        self._random: dict[tuple[str, str, int], dict[tuple[str, str], float]] = {}

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
            for row in self._compared(recipe, metric, seeds, trainings):
                yield {**named, **row}

    def _compared(
        self,
        recipe: str,
        metric: str,
        seeds: Sequence[int],
        trainings: Sequence[tuple[ScoredCell, ScoredCell]],
    ) -> Iterator[dict[str, Any]]:
        """Yield the rows of one recipe, method and metric."""
        collapsed = np.array([self._is_collapsed(recipe, seed) for seed in seeds])
        flags: dict[str, None] = {}
        for pair in trainings:
            _require_scored_alike(*pair)
            for cell in pair:
                flags |= dict.fromkeys(cell.metadata.get("flags", []))
        quantities = dict.fromkeys(name for pair in trainings for one in pair for name in one.names)
        measured = {name: self._measured(name, trainings, collapsed) for name in quantities}
        for number, of_scores in enumerate(measured["score"]):
            of_seeds = [
                self._facts(recipe, metric, seed, own)
                for seed, own in zip(seeds, of_scores.of_seeds, strict=True)
            ]
            counted = [one for one, gone in zip(of_seeds, collapsed, strict=True) if not gone]
            over_seeds = {name: _mean([one[name] for one in counted]) for name in of_seeds[0]}
            for quantity, changes in measured.items():
                for seed, own, facts, gone in zip(
                    [*seeds, None],
                    [*changes[number].of_seeds, changes[number].over_seeds],
                    [*of_seeds, over_seeds],
                    [*collapsed, collapsed.all()],
                    strict=True,
                ):
                    if quantity == "score" or own.n_seeds:
                        row = {"quantity": quantity, "seed": seed, **asdict(own), **facts}
                        row["flags"] = [*own.flags, *["collapsed"] * bool(gone), *flags]
                        yield row

    def _measured(
        self,
        quantity: str,
        trainings: Sequence[tuple[ScoredCell, ScoredCell]],
        collapsed: BoolArray,
    ) -> list[GapChanges]:
        """Return the changes of a quantity between every two groups, of skill on all scales."""
        skills = [
            cell.skill for pair in trainings for cell in pair if cell.skill and quantity == "skill"
        ]
        scales = dict.fromkeys(scale for skill in skills for scale in skill.values) or (None,)
        by_scale: dict[Scale | None, list[GapChanges]] = {}
        for scale in scales:
            values = np.full((2, len(trainings), len(self._scored.examples)), NAN)
            for s, pair in enumerate(trainings):
                for m, cell in enumerate(pair):
                    if quantity in cell.names and not collapsed[s]:
                        values[m, s, cell.places] = cell.values(quantity, scale)
            by_scale[scale] = self._changes(*values)
        if not skills:
            return by_scale[None]
        changes = []
        for each in zip(*by_scale.values(), strict=True):
            tests = {
                scale: one.over_seeds for scale, one in zip(by_scale, each, strict=True) if scale
            }
            claims_means = all(skill.claims_means for skill in skills)
            whole, _ = on_all_scales(tests, estimate="change", claims_means=claims_means)
            changes.append(each[0]._replace(over_seeds=whole))
        return changes

    def _is_collapsed(self, recipe: str, seed: int) -> bool:
        of = (self._scored.classifiers.get((model, seed)) for model in (recipe, self._base))
        return any(one is not None and one.collapsed for one in of)

    def _changes(self, values: FloatArray, base_values: FloatArray) -> list[GapChanges]:
        """Compare (s, n) scores of all examples by two models."""
        examples, order = self._scored.examples, self._scored.facts["groups"]
        return gap_changes(
            values, base_values, examples.groups, order, examples.sets, **self._options
        )

    def _facts(self, recipe: str, metric: str, seed: int, change: GapChange) -> dict[str, float]:
        """Return what stands beside the change in one training."""
        pair = change.group_a, change.group_b
        facts = {"random_change": self._random_changes(recipe, metric, seed).get(pair, NAN)}
        for prefix, model in (("", recipe), ("base_", self._base)):
            classifier = self._scored.classifiers.get((model, seed))
            facts[f"{prefix}accuracy"] = classifier.value("accuracy") if classifier else NAN
            for kind, quantity in self._gaps.items():
                value = classifier.value(quantity, *pair) if classifier else NAN
                facts[f"{prefix}{kind}_gap"] = value
        return facts

    def _random_changes(self, recipe: str, metric: str, seed: int) -> dict[tuple[str, str], float]:
        """Return the mean change of random explanations, by pair of groups."""
        key = recipe, metric, seed
        if key not in self._random:
            drawn = [self._scored.draws.get((m, metric, seed)) for m in (recipe, self._base)]
            values = [self._placed(*one) for one in drawn if one is not None]
            draws = min(map(len, values)) if len(values) == 2 else 0
            changes = self._changes(*(one[:draws] for one in values)) if draws else []
            means = [change.over_seeds for change in changes]
            self._random[key] = {(one.group_a, one.group_b): one.change for one in means}
        return self._random[key]

    def _placed(self, places: IntArray, scores: FloatArray) -> FloatArray:
        """Return (r, n) scores of all examples, NaN where there is none."""
        values = np.full((len(scores), len(self._scored.examples)), NAN)
        values[:, places] = scores
        return values


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else NAN


def _require_scored_alike(own: ScoredCell, of_base: ScoredCell) -> None:
    settings = [[one.metadata["parameters"].get(k) for k in SCORED_ALIKE] for one in (own, of_base)]
    if settings[0] != settings[1]:
        raise InputError(
            f"{own.path}: was scored with other options than {of_base.path}; give the metric the "
            "same options for both models"
        )
