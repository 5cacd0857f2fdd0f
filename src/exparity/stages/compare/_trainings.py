"""The gaps over all trainings and texts: a row per method, metric, pair of groups and quantity."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from exparity.quantities.classifiers import Classifiers
from exparity.quantities.quantity import Quantity, Skill
from exparity.quantities.scales import over_scales, rooms_of, scales_of
from exparity.quantities.scores import Cell, Scores, places_of
from exparity.stages.compare._sources import divided
from exparity.stats.among import AmongRight, GroupFacts, mean_ceiling
from exparity.stats.crossed import OPTIONS, CrossedTest, crossed_tests
from exparity.stats.effect import better_group, cohens_d
from exparity.stats.omnibus import Omnibus, omnibus_test
from exparity.stats.skill import Rooms, Scale, ScaleTests, of_constant
from exparity.stats.sources import GapSources, gap_sources
from exparity.stats.verdicts import HEADLINE
from exparity.types import FloatArray, IntArray


def training_rows(
    model: Scores,
    statistics: Mapping[str, Any],
    classifiers: Classifiers,
    n_words: FloatArray,
) -> Iterator[dict[str, Any]]:
    """Yield the rows of every method and metric, and of the first random explanation.

    ``n_words`` are the (n,) lengths of all examples.
    """
    options = {name: statistics[name] for name in OPTIONS}
    for cells in cells_by_training(model):
        for row in _tested(cells, model, classifiers, options, n_words):
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


class _Texts(NamedTuple):
    """The texts that the cells of one method and metric have scores of.

    Attributes:
        places: (n,) rising places among all examples.
        groups: (n,) group of each.
        sets: (n,) matched set of each, None for one without.
        n_words: (n,) words of each.
        covariate: (n,) what scores depend on beside what is compared; None of nothing.
    """

    places: IntArray
    groups: Sequence[str]
    sets: Sequence[str | None]
    n_words: FloatArray
    covariate: FloatArray | None

    @classmethod
    def of(cls, cells: Sequence[Cell], model: Scores, n_words: FloatArray) -> _Texts:
        """Return the texts of the cells of a model, whose examples have so many words."""
        places = places_of(cells)
        covariate = None
        if cells[0].kind == HEADLINE:  # with few units, correlations are higher at the same noise
            known = [cell.laid(places, n) for cell in cells if (n := cell.n_units) is not None]
            covariate = np.fmax.reduce(known) if known else None
        groups = model.groups[places].tolist()
        sets = model.sets[places].tolist()
        return cls(places, groups, sets, n_words[places], covariate)


def _quantities(
    cells: Sequence[Cell], quantity: str, uninformative: Collection[int]
) -> list[Quantity]:
    """Return what is compared of the cells of informative trainings, where there is such."""
    return [
        cell.quantities[quantity]
        for cell in cells
        if cell.seed not in uninformative and quantity in cell.quantities
    ]


def _tests(
    cells: Sequence[Cell],
    quantity: str,
    uninformative: Collection[int],
    texts: _Texts,
    order: Sequence[str],
    options: Mapping[str, Any],
) -> tuple[list[tuple[CrossedTest, ScaleTests]], Omnibus]:
    """Test a quantity of one method and metric, for each pair of groups and for all of them.

    On several scales, all groups count as equal unless each scale shows that they are not.
    """
    quantities = _quantities(cells, quantity, uninformative)
    tests = {}
    omnibus = Omnibus()
    for scale in scales_of(quantities):
        values = values_over(cells, texts.places, quantity, uninformative, scale)
        tests[scale] = crossed_tests(
            list(values), texts.groups, order, texts.sets, covariate=texts.covariate, **options
        )
        of_all = omnibus_test(
            values, texts.groups, order, texts.sets, tests[scale], covariate=texts.covariate
        )
        omnibus = omnibus.on_another_scale(of_all) if len(tests) > 1 else of_all
    pairs = over_scales(quantities, tests)
    if all(np.isnan(test.p_mean) for test, _ in pairs):
        omnibus = Omnibus()  # no mean gap is claimed of any two groups
    if cells[0].kind == HEADLINE:  # 0 is chance and 1 the best: equal values say much
        return [(of_constant(test), scales) for test, scales in pairs], omnibus
    return pairs, omnibus


def _is_constant(scores: FloatArray) -> bool:
    """Return whether there are (s, n) scores, and in no training two that differ."""
    return len(scores) > 0 and not np.any(np.nanmax(scores, 1) - np.nanmin(scores, 1))


def _facts(
    cells: Sequence[Cell], texts: _Texts, classifiers: Classifiers, group_a: str, group_b: str
) -> GroupFacts:
    """Return what two groups differ in beside the explanations of one method."""
    of_groups = [np.array(texts.groups, dtype=object) == group for group in (group_a, group_b)]
    lengths = [texts.n_words[chosen] for chosen in of_groups]
    known = [cell.laid(texts.places, c) for cell in cells if (c := cell.ceilings) is not None]
    ceilings = np.array(known).reshape(len(known), len(texts.places))
    ceiling_a, ceiling_b = (mean_ceiling(ceilings[:, chosen]) for chosen in of_groups)
    return GroupFacts(
        certainty_d=classifiers.certainty_d(group_a, group_b),
        length_d=float(cohens_d(*lengths)) if min(map(len, lengths)) > 1 else np.nan,
        share_right_a=classifiers.mean_share_right(group_a),
        share_right_b=classifiers.mean_share_right(group_b),
        ceiling_a=ceiling_a,
        ceiling_b=ceiling_b,
    )


def _tested(
    cells: Sequence[Cell],
    model: Scores,
    classifiers: Classifiers,
    options: Mapping[str, Any],
    n_words: FloatArray,
) -> Iterator[dict[str, Any]]:
    """Yield the rows of one method and metric, from its cell in each training."""
    texts = _Texts.of(cells, model, n_words)
    # What is left out says nothing of the others.
    counted = [cell for cell in cells if cell.seed not in classifiers.uninformative]
    right = [cell.among(classifiers.are_right(cell.seed, model.ids_at(cell))) for cell in cells]
    of_scores = {flag for cell in counted for flag in cell.flags}
    if not counted:
        is_collapsed = any(classifiers[cell.seed].is_collapsed for cell in cells)
        of_scores.add("collapsed" if is_collapsed else "label_mass_low")
    measured, *others = dict.fromkeys(name for cell in cells for name in cell.quantities)
    bad = classifiers.uninformative
    scores = values_over(cells, texts.places, measured, bad)
    parts = divided(counted, texts.places)
    for quantity in (measured, *others):
        preference = cells[0].preference_of(quantity)
        skills = [one for one in _quantities(cells, quantity, bad) if isinstance(one, Skill)]
        tests, omnibus = _tests(cells, quantity, bad, texts, model.order, options)
        of_right, right_omnibus = _tests(right, quantity, bad, texts, model.order, options)
        for (test, scales), (among_right, _) in zip(tests, of_right, strict=True):
            rooms, flags = Rooms(), set(of_scores)
            if skills:
                rooms, of_rooms = rooms_of(skills, test.group_a, test.group_b)
                flags.update(of_rooms)
            elif not test.n_seeds and quantity != measured:
                continue  # there are no random explanations
            facts = _facts(counted, texts, classifiers, test.group_a, test.group_b)
            flags.update(facts.flags)
            pair = np.isin(texts.groups, (test.group_a, test.group_b))
            compared = scores[:, pair][~np.isnan(scores[:, pair]).all(axis=1)]
            if cells[0].kind != HEADLINE and _is_constant(compared):
                flags.add("constant")
            test.flags.extend(sorted(flags.difference(test.flags)))
            sources = GapSources()
            if quantity == measured:
                sources = gap_sources(
                    parts,
                    texts.groups,
                    (test.group_a, test.group_b),
                    texts.sets,
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
                **asdict(facts),
                **asdict(omnibus),
                **asdict(AmongRight.of(among_right, right_omnibus)),
            }
