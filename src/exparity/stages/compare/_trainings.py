"""The gaps over all trainings and texts: a row per method, metric, pair of groups and quantity."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np

from exparity.artefacts.columns import Row
from exparity.core.settings import Statistics
from exparity.quantities.classifiers import Classifiers
from exparity.quantities.quantity import Quantity, Skill
from exparity.quantities.scales import over_scales, rooms_of, scales_of
from exparity.quantities.scores import Scores, covariate_of
from exparity.quantities.trained import TrainedCells, trained_cells
from exparity.stages.compare._sources import divided
from exparity.stats.among import AmongRight, GroupFacts
from exparity.stats.crossed import CrossedTest, crossed_gaps_of_many, p_by_pair
from exparity.stats.effect import better_group, cohens_d
from exparity.stats.means import mean_of_finite
from exparity.stats.omnibus import Omnibus, omnibus_test
from exparity.stats.samples import GroupedTexts
from exparity.stats.skill import Rooms, Scale, ScaleTests, of_constant
from exparity.stats.sources import GapSources, gap_sources
from exparity.stats.verdicts import HEADLINE
from exparity.types import FloatArray


def training_rows(
    model: Scores,
    settings: Statistics,
    classifiers: Classifiers,
    n_words: FloatArray,
) -> Iterator[Row]:
    """Yield the rows of every method and metric, and of the first random explanation.

    ``n_words`` are the (n,) lengths of all examples.
    """
    for trained in trained_cells(model, classifiers):
        right = trained.predicted_rightly(model, classifiers)
        texts = _Texts.of(trained, model, n_words)
        for row in _Comparison(trained, right, texts, classifiers, settings).rows():
            yield {**row, "run": classifiers.run}


class _Texts(NamedTuple):
    """The texts that the cells of one method and metric have scores of.

    Attributes:
        grouped: their groups and matched sets.
        n_words: (n,) words of each.
        covariate: (n,) what scores depend on beside what is compared; None of nothing.
    """

    grouped: GroupedTexts
    n_words: FloatArray
    covariate: FloatArray | None

    @classmethod
    def of(cls, trained: TrainedCells, model: Scores, n_words: FloatArray) -> _Texts:
        """Return the texts of the cells of a model, whose examples have so many words."""
        places = trained.places
        covariate = covariate_of(trained.cells, places)
        return cls(model.texts_at(places), n_words[places], covariate)


@dataclass(frozen=True)
class _Comparison:
    """The comparison of groups by one method and metric, over its trainings.

    Attributes:
        trained: its cell in each training.
        right: the same among the texts that each training predicts rightly.
        texts: the texts of all trainings.
        classifiers: the trainings.
        settings: of the tests.
    """

    trained: TrainedCells
    right: TrainedCells
    texts: _Texts
    classifiers: Classifiers
    settings: Statistics

    def rows(self) -> Iterator[Row]:
        """Yield a row for each quantity and pair of groups."""
        first = self.trained.first
        measured, *others = self.trained.quantity_names
        parts = divided(self.trained.informative, self.trained.places)
        sources = gap_sources(parts, self.texts.grouped, self.settings)
        tests_among_all = self._tests(self.trained)
        tests_among_right = self._tests(self.right)
        for quantity in (measured, *others):
            preference = first.preference_of(quantity)
            quantities = self.trained.quantities(quantity)
            skills = [compared for compared in quantities if isinstance(compared, Skill)]
            tests, omnibus = tests_among_all[quantity]
            right, right_omnibus = tests_among_right[quantity]
            for (test, scales), (among_right, _) in zip(tests, right, strict=True):
                if not (skills or test.n_seeds or quantity == measured):
                    continue  # there are no random explanations
                pair = test.group_a, test.group_b
                rooms, flags = rooms_of(skills, *pair) if skills else (Rooms(), [])
                facts = self._facts[pair]
                p = self._ceiling_p.get(frozenset(pair), np.nan)
                flags += facts.ceiling_flags(is_gap_shown=p <= self.settings.alpha)
                flags += [*self._score_flags, *self._constant(pair)]
                test.flags.extend(sorted({*flags}.difference(test.flags)))
                yield {
                    "method": first.method,
                    "metric": first.metric,
                    "quantity": quantity,
                    "metric_kind": first.kind,
                    "metric_direction": first.direction_of(quantity),
                    "better_group": better_group(*pair, test.d, preference),
                    **vars(test),
                    **vars(scales),
                    **vars(rooms),
                    **vars(sources[pair] if quantity == measured else GapSources()),
                    **vars(facts),
                    **vars(omnibus),
                    **vars(AmongRight.of(among_right, right_omnibus)),
                }

    @cached_property
    def _score_flags(self) -> frozenset[str]:
        """Flags of the scores, and why there are none that count."""
        informative = self.trained.informative
        if informative:
            return frozenset(flag for cell in informative for flag in cell.flags)
        is_collapsed = any(self.classifiers[cell.seed].is_collapsed for cell in self.trained.cells)
        return frozenset(["collapsed" if is_collapsed else "label_mass_low"])

    @cached_property
    def _measured(self) -> FloatArray:
        """(s, n) what the metric gave."""
        return self.trained.values(self.trained.quantity_names[0], None)

    def _tests(
        self, trained: TrainedCells
    ) -> dict[str, tuple[list[tuple[CrossedTest, ScaleTests]], Omnibus]]:
        """Test each quantity for each pair of groups and for all of them.

        On several scales, all groups count as equal unless each scale shows that they are not.
        """
        texts = self.texts
        compared = [
            (name, scale)
            for name in self.trained.quantity_names
            for scale in scales_of(trained.quantities(name))
        ]
        values = [trained.values(name, scale) for name, scale in compared]
        tests = crossed_gaps_of_many(
            values, texts.grouped, self.settings, covariate=texts.covariate
        )
        by_name: dict[str, dict[Scale | None, list[CrossedTest]]] = defaultdict(dict)
        omnibus: dict[str, Omnibus] = {}
        for (name, scale), scores, on_scale in zip(compared, values, tests, strict=True):
            by_name[name][scale] = on_scale
            among_all = omnibus_test(scores, texts.grouped, on_scale, covariate=texts.covariate)
            before = omnibus.get(name)
            omnibus[name] = before.on_another_scale(among_all) if before else among_all
        return {
            name: self._on_all_scales(trained.quantities(name), by_scale, omnibus[name])
            for name, by_scale in by_name.items()
        }

    def _on_all_scales(
        self,
        quantities: Sequence[Quantity],
        tests: Mapping[Scale | None, Sequence[CrossedTest]],
        omnibus: Omnibus,
    ) -> tuple[list[tuple[CrossedTest, ScaleTests]], Omnibus]:
        """Return the tests of a quantity on all its scales, and that of all groups."""
        pairs = over_scales(quantities, tests)
        if all(np.isnan(test.p_mean) for test, _ in pairs):
            omnibus = Omnibus()  # no mean gap is claimed of any two groups
        if self.trained.first.kind == HEADLINE:  # 0 is chance and 1 the best: equal values say much
            return [(of_constant(test), scales) for test, scales in pairs], omnibus
        return pairs, omnibus

    def _constant(self, pair: tuple[str, str]) -> list[str]:
        """Return the flag of a pair of groups whose scores are equal in every training."""
        grouped = self.texts.grouped
        chosen = self._measured[:, grouped.in_group(pair[0]) | grouped.in_group(pair[1])]
        scores = chosen[~np.isnan(chosen).all(axis=1)]
        if self.trained.first.kind == HEADLINE or not len(scores):
            return []
        varies = np.any(np.nanmax(scores, 1) - np.nanmin(scores, 1))
        return [] if varies else ["constant"]

    @cached_property
    def _ceilings(self) -> FloatArray:
        """(s, n) ceiling of each text in the trainings that know one."""
        laid = [
            cell.laid(self.trained.places, cell.ceilings)
            for cell in self.trained.informative
            if cell.ceilings is not None
        ]
        return np.array(laid).reshape(len(laid), len(self.trained.places))

    @cached_property
    def _ceiling_p(self) -> Mapping[frozenset[str], float]:
        """p-value of "the ceilings of both groups are alike", by two groups."""
        return p_by_pair(self._ceilings, self.texts.grouped)

    @cached_property
    def _facts(self) -> dict[tuple[str, str], GroupFacts]:
        """What every two groups differ in beside the explanations of the method."""
        ceilings = self._ceilings
        texts = self.texts
        members = {group: texts.grouped.in_group(group) for group in texts.grouped.order}
        n_words = {group: texts.n_words[mask] for group, mask in members.items()}
        ceiling = {group: mean_of_finite(ceilings[:, mask]) for group, mask in members.items()}
        share_right = {group: self.classifiers.mean_share_right(group) for group in members}
        return {
            (a, b): GroupFacts(
                certainty_d=self.classifiers.certainty_d(a, b),
                surer_of=self.classifiers.surer_of(a, b, self.settings),
                length_d=float(cohens_d(n_words[a], n_words[b]))
                if min(len(n_words[a]), len(n_words[b])) > 1
                else np.nan,
                share_right_a=share_right[a],
                share_right_b=share_right[b],
                ceiling_a=ceiling[a],
                ceiling_b=ceiling[b],
            )
            for a, b in combinations(members, 2)
        }
