"""The tests within each training: a row per cell, pair of groups and quantity."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any

from exparity.stages.compare._adjusted import NOT_ADJUSTED, Covariates
from exparity.stages.compare._scores import Cell, Classifiers, ModelScores, Settings
from exparity.stages.skill import Skill, is_skill, rooms_of
from exparity.stats import compare_all
from exparity.stats.compare import GroupComparison
from exparity.stats.crossed import crossed_tests
from exparity.stats.skill import on_all_scales

_OF_RANKS = (
    *("U", "p", "significant", "rank_biserial", "wilcoxon_p", "omnibus", "omnibus_statistic"),
    *("omnibus_p", "epsilon_squared", "friedman_statistic", "friedman_p"),
)
_DESCRIBED = [one for one in fields(GroupComparison) if one.name not in _OF_RANKS]
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
            pairs = compare_all(values, groups, self._model.order, sets, **settings)
            higher = cell.direction
            if cell.skill is not None and is_skill(quantity):
                pairs, higher = _of_skill(pairs, cell.skill, groups, sets, settings), "higher"
            for pair in pairs:
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
                    "metric_direction": higher,
                    "better_group": _better_group(pair, higher),
                    "test_accuracy": self._classifiers.accuracy[cell.seed],
                    **(adjusted.get(of_pair, NOT_ADJUSTED) if is_measured else NOT_ADJUSTED),
                }


TestRows.__test__ = False  # type: ignore[attr-defined]  # no tests for pytest to collect


def _of_skill(
    pairs: Sequence[GroupComparison],
    skill: Skill,
    groups: Sequence[str],
    sets: Sequence[str | None],
    settings: Mapping[str, Any],
) -> list[GroupComparison]:
    """Return comparisons of values of a ratio, whose ranks mean nothing: tested by their means.

    ``p`` is that of the means of matched differences, or of two groups (Welch), on all scales.
    """
    order = list(dict.fromkeys(name for pair in pairs for name in (pair.group_a, pair.group_b)))
    options = {name: settings[name] for name in ("alpha", "threshold", "confidence")}
    tests = {
        scale: crossed_tests([values], groups, order, sets, **options)
        for scale, values in skill.values.items()
    }
    found = []
    for pair, *each in zip(pairs, *tests.values(), strict=True):
        of_scales = dict(zip(tests, each, strict=True))
        whole, _ = on_all_scales(of_scales, claims_means=skill.claims_means)
        _, flags = rooms_of([skill], pair.group_a, pair.group_b)
        found.append(
            replace(
                GroupComparison(**{f.name: getattr(pair, f.name) for f in _DESCRIBED}),
                p=whole.p_mean,
                significant=bool(whole.p_mean <= settings["alpha"]),
                flags=list(dict.fromkeys([*pair.flags, *flags])),
            )
        )
    return found


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["seed"], row["metric"], row["group_a"], row["group_b"]


def _better_group(pair: GroupComparison, direction: str | None) -> str | None:
    """Return the group with the better scores; None where there is none."""
    return {1: pair.group_a, -1: pair.group_b, 0: None}[pair.direction * _BETTER[direction]]
