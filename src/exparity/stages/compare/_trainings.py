"""The gaps over all trainings and texts: a row per method, metric, pair of groups and quantity."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from exparity.stages.compare._scores import Cell, Classifiers, Scores
from exparity.stages.compare._sources import divided
from exparity.stages.skill import Skill, over_scales, rooms_of, scales_of
from exparity.stats.crossed import OPTIONS, crossed_tests
from exparity.stats.effect import better_group
from exparity.stats.skill import Rooms, Scale, of_constant
from exparity.stats.sources import GapSources, gap_sources
from exparity.stats.verdicts import HEADLINE
from exparity.types import FloatArray, IntArray


def training_rows(
    model: Scores, statistics: Mapping[str, Any], classifiers: Classifiers
) -> Iterator[dict[str, Any]]:
    """Yield the rows of every method and metric, and of the first random explanation."""
    options = {name: statistics[name] for name in OPTIONS}
    for cells in cells_by_training(model):
        for row in _tested(cells, model, classifiers, options):
            yield {**row, "run": classifiers.run}


def cells_by_training(model: Scores) -> Iterator[list[Cell]]:
    """Yield the cells of each method and metric by rising seed; of random ones the first draw."""
    cells: dict[tuple[str, str, bool], dict[int, Cell]] = defaultdict(dict)
    for cell in model.cells:
        of_seeds = cells[cell.method, cell.metric, cell.draw is None]
        of_seeds.setdefault(cell.seed, cell)  # the first draw
    for by_seed in cells.values():
        yield [by_seed[seed] for seed in sorted(by_seed)]


def values_over(
    cells: Sequence[Cell],
    places: IntArray,
    quantity: str,
    uninformative: Collection[int],
    scale: Scale | None = None,
) -> FloatArray:
    """Return the (s, n) values of a quantity of the texts at rising places, NaN where it has none.

    Trainings whose seeds are uninformative have none. ``scale`` is None of what has no other.
    """
    values = np.full((len(cells), len(places)), np.nan)
    for row, cell in zip(values, cells, strict=True):
        if cell.seed not in uninformative and quantity in cell.quantities:
            row[:] = cell.laid(places, cell.quantities[quantity].values[scale])
    return values


def _tested(
    cells: Sequence[Cell],
    model: Scores,
    classifiers: Classifiers,
    options: Mapping[str, Any],
) -> Iterator[dict[str, Any]]:
    """Yield the rows of one method and metric, from its cell in each training."""
    used = np.unique(np.concatenate([cell.places for cell in cells]))
    groups, sets = model.groups[used].tolist(), model.sets[used].tolist()
    # What is left out says nothing of the others.
    counted = [cell for cell in cells if cell.seed not in classifiers.uninformative]
    of_scores = {flag for cell in counted for flag in cell.flags}
    if not counted:
        is_collapsed = any(cell.seed in classifiers.collapsed for cell in cells)
        of_scores.add("collapsed" if is_collapsed else "label_mass_low")
    measured, *others = dict.fromkeys(name for cell in cells for name in cell.quantities)

    values_of = partial(values_over, cells, used, uninformative=classifiers.uninformative)
    scores = values_of(measured)
    parts = divided(counted, used)
    for quantity in (measured, *others):
        preference = cells[0].preference_of(quantity)
        each = [cell.quantities[quantity] for cell in counted if quantity in cell.quantities]
        skills = [one for one in each if isinstance(one, Skill)]
        tests = {
            scale: crossed_tests(
                list(values_of(quantity, scale=scale)), groups, model.order, sets, **options
            )
            for scale in scales_of(each)
        }
        for test, scales in over_scales(each, tests):
            rooms, flags = Rooms(), set(of_scores)
            if skills:
                rooms, of_rooms = rooms_of(skills, test.group_a, test.group_b)
                flags.update(of_rooms)
            elif not test.n_seeds and quantity != measured:
                continue  # there are no random explanations
            pair = np.isin(groups, (test.group_a, test.group_b))
            compared = scores[:, pair][~np.isnan(scores[:, pair]).all(axis=1)]
            if cells[0].kind == HEADLINE:  # 0 is chance and 1 the best: equal values say something
                test = of_constant(test)
            elif len(compared) and not np.any(np.nanmax(compared, 1) - np.nanmin(compared, 1)):
                flags.add("constant")  # in no training two scores differ
            test.flags.extend(sorted(flags.difference(test.flags)))
            sources = GapSources()
            if quantity == measured:
                sources = gap_sources(
                    parts,
                    groups,
                    (test.group_a, test.group_b),
                    sets,
                    confidence=options["confidence"],
                )
            yield {
                "method": cells[0].method,
                "metric": cells[0].metric,
                "quantity": quantity,
                "metric_kind": cells[0].kind,
                "metric_direction": cells[0].direction_of(quantity),
                "better_group": better_group(test.group_a, test.group_b, test.d, preference),
                **asdict(test),
                **asdict(scales),
                **asdict(rooms),
                **asdict(sources),
                "certainty_d": classifiers.certainty_d(test.group_a, test.group_b),
            }
