"""The tests within each training: a row per cell, pair of groups and quantity."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any

from exparity.core.grouping import grouped
from exparity.stages.compare._adjusted import NOT_ADJUSTED, adjusted_columns
from exparity.stages.compare._scores import Cell, Classifiers, ModelScores, better_group
from exparity.stages.skill import Skill, is_skill, over_scales, rooms_of
from exparity.stats.compare import GroupComparison, compare_many
from exparity.stats.crossed import CrossedTest, crossed_tests
from exparity.stats.skill import Scale
from exparity.types import FloatArray

NAN = float("nan")
_OF_RANKS = (
    *("U", "p", "significant", "rank_biserial", "wilcoxon_p", "omnibus", "omnibus_statistic"),
    *("omnibus_p", "epsilon_squared", "friedman_statistic", "friedman_p"),
)
_DESCRIBED = [one for one in fields(GroupComparison) if one.name not in _OF_RANKS]


def rows_of_tests(
    model: ModelScores,
    statistics: Mapping[str, Any],
    classifiers: Classifiers,
    covariates: Mapping[str, FloatArray],
) -> Iterator[dict[str, Any]]:
    """Yield the rows of random explanations, and those of the methods beside them."""
    draws: dict[tuple[Any, ...], list[bool]] = defaultdict(list)
    random, methods = ([cell for cell in model.cells if (cell.draw is None) == k] for k in (0, 1))
    for cell, comparisons in _compared(random, model, {**statistics, "resamples": 0}):
        for row in _rows(cell, comparisons, classifiers, {}):
            if row["quantity"] == "random_score":
                paired = row["wilcoxon_p"] == row["wilcoxon_p"]
                p = row["wilcoxon_p" if paired else "p"]
                draws[_drawn(row)].append(p <= statistics["alpha"])
            yield {**row, "random_significant": NAN}
    for cell, comparisons in _compared(methods, model, statistics):
        adjusted = adjusted_columns(cell, model, covariates, statistics["confidence"])
        for row in _rows(cell, comparisons, classifiers, adjusted):
            hits = draws[_drawn(row)]
            yield {**row, "random_significant": sum(hits) / len(hits) if hits else NAN}


def _compared(
    cells: Sequence[Cell], model: ModelScores, statistics: Mapping[str, Any]
) -> Iterator[tuple[Cell, dict[str, list[GroupComparison]]]]:
    """Yield each cell with its comparisons by quantity; cells of the same texts go together."""
    for of_alike in grouped(cells, lambda cell: cell.places.tobytes()).values():
        places = of_alike[0].places
        groups, sets = model.groups[places].tolist(), model.sets[places].tolist()
        values = [one.shown for cell in of_alike for one in cell.quantities.values()]
        compared = iter(compare_many(values, groups, model.order, sets, **statistics))
        for cell in of_alike:
            comparisons = {}
            for name, one in cell.quantities.items():
                pairs = next(compared)
                if isinstance(one, Skill):
                    pairs = _of_skill(pairs, one, groups, sets, statistics)
                comparisons[name] = pairs
            yield cell, comparisons


def _rows(
    cell: Cell,
    comparisons: Mapping[str, Sequence[GroupComparison]],
    classifiers: Classifiers,
    adjusted: Mapping[tuple[str, str], Mapping[str, Any]],
) -> Iterator[dict[str, Any]]:
    """Yield the rows of one cell; ``adjusted`` has columns of what was measured, by pair."""
    flags = list(cell.flags)
    if cell.seed in classifiers.collapsed:
        flags.append("collapsed")
    measured, *_ = comparisons
    for quantity, of_quantity in comparisons.items():
        direction = "higher" if is_skill(quantity) else cell.direction
        for pair, own in zip(of_quantity, comparisons[measured], strict=True):
            # Scores that are all equal say nothing, whatever random ones are.
            constant = [flag for flag in own.flags if flag == "constant"]
            of_pair = adjusted.get((pair.group_a, pair.group_b), NOT_ADJUSTED)
            yield {
                **cell.ids,
                "quantity": quantity,
                "draw": cell.draw,
                **asdict(pair),
                "flags": list(dict.fromkeys([*pair.flags, *constant, *flags])),
                "metric_direction": direction,
                "better_group": better_group(pair.group_a, pair.group_b, pair.direction, direction),
                "test_accuracy": classifiers.accuracy[cell.seed],
                **(of_pair if quantity == measured else NOT_ADJUSTED),
            }


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
    tests: dict[Scale | None, list[CrossedTest]] = {
        scale: crossed_tests([values], groups, order, sets, **options)
        for scale, values in skill.values.items()
    }
    found = []
    for pair, (whole, _) in zip(pairs, over_scales([skill], tests), strict=True):
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


def _drawn(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["seed"], row["metric"], row["group_a"], row["group_b"]
