"""The gaps over all trainings and texts: a row per method, metric, pair of groups and quantity."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from exparity.artefacts.columns import Row
from exparity.core.settings import Statistics
from exparity.quantities.classifiers import Classifiers
from exparity.quantities.quantity import Quantity, Skill
from exparity.quantities.scales import over_scales, rooms_of, scales_of
from exparity.quantities.scores import Cell, Scores, covariate_of, places_of
from exparity.stages.compare._sources import divided
from exparity.stats.among import AmongRight, GroupFacts
from exparity.stats.crossed import CrossedTest, crossed_gaps
from exparity.stats.effect import better_group, cohens_d
from exparity.stats.means import mean_of_finite
from exparity.stats.omnibus import Omnibus, omnibus_test
from exparity.stats.samples import GroupedTexts
from exparity.stats.skill import Rooms, Scale, ScaleTests, of_constant
from exparity.stats.sources import Divided, GapSources, gap_sources
from exparity.stats.verdicts import HEADLINE
from exparity.types import FloatArray, IntArray


def training_rows(
    model: Scores,
    settings: Statistics,
    classifiers: Classifiers,
    n_words: FloatArray,
) -> Iterator[Row]:
    """Yield the rows of every method and metric, and of the first random explanation.

    ``n_words`` are the (n,) lengths of all examples.
    """
    for cells in cells_by_training(model):
        right = [cell.among(classifiers.are_right(cell.seed, model.ids_at(cell))) for cell in cells]
        texts = _Texts.of(cells, model, n_words)
        for row in _Comparison(cells, right, texts, classifiers, settings).rows():
            yield {**row, "run": classifiers.run}


def cells_by_training(model: Scores) -> Iterator[list[Cell]]:
    """Yield the cells of each method and metric by rising seed; of random ones the first draw."""
    cells: dict[tuple[str, str, bool], dict[int, Cell]] = defaultdict(dict)
    for cell in model.cells:
        by_seed = cells[cell.method, cell.metric, cell.draw is None]
        by_seed.setdefault(cell.seed, cell)  # the first draw
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
        grouped: their groups and matched sets.
        n_words: (n,) words of each.
        covariate: (n,) what scores depend on beside what is compared; None of nothing.
    """

    places: IntArray
    grouped: GroupedTexts
    n_words: FloatArray
    covariate: FloatArray | None

    @classmethod
    def of(cls, cells: Sequence[Cell], model: Scores, n_words: FloatArray) -> _Texts:
        """Return the texts of the cells of a model, whose examples have so many words."""
        places = places_of(cells)
        covariate = covariate_of(cells, places)
        return cls(places, model.texts_at(places), n_words[places], covariate)


@dataclass(frozen=True)
class _Comparison:
    """The comparison of groups by one method and metric, over its trainings.

    Attributes:
        cells: its cell in each training.
        right: the same among the texts that each training predicts rightly.
        texts: the texts of all trainings.
        classifiers: the trainings.
        settings: of the tests.
    """

    cells: Sequence[Cell]
    right: Sequence[Cell]
    texts: _Texts
    classifiers: Classifiers
    settings: Statistics

    def rows(self) -> Iterator[Row]:
        """Yield a row for each quantity and pair of groups."""
        first = self.cells[0]
        measured, *others = self._quantity_names
        parts = divided(self._counted, self.texts.places)
        for quantity in (measured, *others):
            preference = first.preference_of(quantity)
            quantities = self._quantities(self.cells, quantity)
            skills = [compared for compared in quantities if isinstance(compared, Skill)]
            tests, omnibus = self._tests(self.cells, quantity)
            right, right_omnibus = self._tests(self.right, quantity)
            for (test, scales), (among_right, _) in zip(tests, right, strict=True):
                if not (skills or test.n_seeds or quantity == measured):
                    continue  # there are no random explanations
                pair = test.group_a, test.group_b
                rooms, flags = rooms_of(skills, *pair) if skills else (Rooms(), [])
                facts = self._facts(*pair)
                flags = [*flags, *facts.ceiling_flags, *self._score_flags, *self._constant(pair)]
                test.flags.extend(sorted({*flags}.difference(test.flags)))
                sources = self._sources(parts, pair) if quantity == measured else GapSources()
                yield {
                    "method": first.method,
                    "metric": first.metric,
                    "quantity": quantity,
                    "metric_kind": first.kind,
                    "metric_direction": first.direction_of(quantity),
                    "better_group": better_group(*pair, test.d, preference),
                    **asdict(test),
                    **asdict(scales),
                    **asdict(rooms),
                    **asdict(sources),
                    **asdict(facts),
                    **asdict(omnibus),
                    **asdict(AmongRight.of(among_right, right_omnibus)),
                }

    @property
    def _quantity_names(self) -> list[str]:
        """Names of what is compared; what was measured comes first."""
        return [*dict.fromkeys(name for cell in self.cells for name in cell.quantities)]

    @cached_property
    def _counted(self) -> list[Cell]:
        """Cells of informative trainings; what is left out says nothing of the others."""
        return [cell for cell in self.cells if cell.seed not in self.classifiers.uninformative]

    @cached_property
    def _score_flags(self) -> frozenset[str]:
        """Flags of the scores, and why there are none that count."""
        if self._counted:
            return frozenset(flag for cell in self._counted for flag in cell.flags)
        is_collapsed = any(self.classifiers[cell.seed].is_collapsed for cell in self.cells)
        return frozenset(["collapsed" if is_collapsed else "label_mass_low"])

    @cached_property
    def _measured(self) -> FloatArray:
        """(s, n) what the metric gave."""
        return self._values(self.cells, self._quantity_names[0], None)

    def _values(self, cells: Sequence[Cell], quantity: str, scale: Scale | None) -> FloatArray:
        bad = self.classifiers.uninformative
        return values_over(cells, self.texts.places, quantity, bad, scale)

    def _quantities(self, cells: Sequence[Cell], quantity: str) -> list[Quantity]:
        """Return what is compared of the informative trainings that have it."""
        return [
            cell.quantities[quantity]
            for cell in cells
            if cell.seed not in self.classifiers.uninformative and quantity in cell.quantities
        ]

    def _tests(
        self, cells: Sequence[Cell], quantity: str
    ) -> tuple[list[tuple[CrossedTest, ScaleTests]], Omnibus]:
        """Test a quantity for each pair of groups and for all of them.

        On several scales, all groups count as equal unless each scale shows that they are not.
        """
        quantities = self._quantities(cells, quantity)
        texts = self.texts
        grouped = texts.grouped
        tests = {}
        omnibus = Omnibus()
        for scale in scales_of(quantities):
            values = self._values(cells, quantity, scale)
            tests[scale] = crossed_gaps(
                list(values), grouped, self.settings, covariate=texts.covariate
            )
            on_scale = omnibus_test(values, grouped, tests[scale], covariate=texts.covariate)
            omnibus = omnibus.on_another_scale(on_scale) if len(tests) > 1 else on_scale
        pairs = over_scales(quantities, tests)
        if all(np.isnan(test.p_mean) for test, _ in pairs):
            omnibus = Omnibus()  # no mean gap is claimed of any two groups
        if self.cells[0].kind == HEADLINE:  # 0 is chance and 1 the best: equal values say much
            return [(of_constant(test), scales) for test, scales in pairs], omnibus
        return pairs, omnibus

    def _constant(self, pair: tuple[str, str]) -> list[str]:
        """Return the flag of a pair of groups whose scores are equal in every training."""
        grouped = self.texts.grouped
        chosen = self._measured[:, grouped.in_group(pair[0]) | grouped.in_group(pair[1])]
        scores = chosen[~np.isnan(chosen).all(axis=1)]
        if self.cells[0].kind == HEADLINE or not len(scores):
            return []
        varies = np.any(np.nanmax(scores, 1) - np.nanmin(scores, 1))
        return [] if varies else ["constant"]

    def _facts(self, group_a: str, group_b: str) -> GroupFacts:
        """Return what two groups differ in beside the explanations of the method."""
        texts = self.texts
        in_a = texts.grouped.in_group(group_a)
        in_b = texts.grouped.in_group(group_b)
        laid_ceilings = [
            cell.laid(texts.places, cell.ceilings)
            for cell in self._counted
            if cell.ceilings is not None
        ]
        ceilings = np.array(laid_ceilings).reshape(len(laid_ceilings), len(texts.places))
        has_lengths = min(in_a.sum(), in_b.sum()) > 1
        return GroupFacts(
            certainty_d=self.classifiers.certainty_d(group_a, group_b),
            length_d=float(cohens_d(texts.n_words[in_a], texts.n_words[in_b]))
            if has_lengths
            else np.nan,
            share_right_a=self.classifiers.mean_share_right(group_a),
            share_right_b=self.classifiers.mean_share_right(group_b),
            ceiling_a=mean_of_finite(ceilings[:, in_a]),
            ceiling_b=mean_of_finite(ceilings[:, in_b]),
        )

    def _sources(self, parts: Sequence[Divided], pair: tuple[str, str]) -> GapSources:
        """Return what the gap of two groups comes from."""
        return gap_sources(parts, self.texts.grouped, pair, self.settings)
