"""The tests within each training: a row per cell, pair of groups and quantity."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from exparity.stages.compare._adjusted import NOT_ADJUSTED, Covariates
from exparity.stages.compare._scores import Cell, Classifiers, ModelScores, Settings
from exparity.stats import compare_all
from exparity.stats.compare import GroupComparison

_BETTER = {"higher": 1, "lower": -1, None: 0}


class TestRows:
    """The rows of the tests artefact."""

    def __init__(
        self,
        model: ModelScores,
        settings: Settings,
        classifiers: Classifiers,
        covariates: Covariates,
    ) -> None:
        self._model, self._settings = model, settings
        self._classifiers, self._covariates = classifiers, covariates

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of random explanations, and those of the methods beside them."""
        alpha = self._settings.of({})["alpha"]
        draws: dict[tuple[Any, ...], list[bool]] = defaultdict(list)
        for cell in self._model.cells:
            if cell.draw is not None:
                for row in self._tested(cell):
                    if row["quantity"] == "random_score":
                        p = (
                            row["wilcoxon_p"]
                            if row["wilcoxon_p"] == row["wilcoxon_p"]
                            else row["p"]
                        )
                        draws[_key(row)].append(p <= alpha)
                    yield {**row, "random_significant": float("nan")}
        for cell in self._model.cells:
            if cell.draw is None:
                for row in self._tested(cell):
                    hits = draws[_key(row)]
                    share = sum(hits) / len(hits) if hits else float("nan")
                    yield {**row, "random_significant": share}

    def _tested(self, cell: Cell) -> Iterator[dict[str, Any]]:
        """Yield the rows of one cell."""
        groups, sets = (of[cell.places].tolist() for of in (self._model.groups, self._model.sets))
        if cell.draw is None:
            settings = self._settings.of(cell.ids)
            adjusted = self._covariates.adjusted(cell, groups, sets, settings["confidence"])
        else:  # which belongs to every method
            settings = self._settings.of({"seed": cell.seed, "metric": cell.metric})
            settings, adjusted = {**settings, "resamples": 0}, {}
        flags = [*cell.flags, *["collapsed"] * (cell.seed in self._classifiers.collapsed)]
        constant: set[tuple[str, str]] = set()
        for quantity, values in cell.quantities.items():
            is_measured = values is cell.scores
            for pair in compare_all(values, groups, self._model.order, sets, **settings):
                of_pair = pair.group_a, pair.group_b
                if is_measured and "constant" in pair.flags:
                    constant.add(of_pair)
                # Scores that are all equal say nothing, whatever random ones are.
                own = [*pair.flags, *["constant"] * (of_pair in constant), *flags]
                yield {
                    **cell.ids,
                    "quantity": quantity,
                    "draw": cell.draw,
                    **asdict(pair),
                    "flags": list(dict.fromkeys(own)),
                    "metric_direction": cell.direction,
                    "better_group": _better_group(pair, cell.direction),
                    "test_accuracy": self._classifiers.accuracy[cell.seed],
                    **(adjusted.get(of_pair, NOT_ADJUSTED) if is_measured else NOT_ADJUSTED),
                }


TestRows.__test__ = False  # type: ignore[attr-defined]  # no tests for pytest to collect


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["seed"], row["metric"], row["group_a"], row["group_b"]


def _better_group(pair: GroupComparison, direction: str | None) -> str | None:
    """Return the group with the better scores; None where there is none."""
    return {1: pair.group_a, -1: pair.group_b, 0: None}[pair.direction * _BETTER[direction]]
