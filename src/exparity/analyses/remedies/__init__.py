"""Analysis remedies: which other method serves the group better that a method explains worse?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import numpy as np

from exparity.analyses import StageResult, Table, analysis, where_methods_compete
from exparity.analyses.remedies.section import findings
from exparity.core.grouping import grouped
from exparity.core.settings import DEFAULTS
from exparity.quantities.classifiers import read_classifiers
from exparity.quantities.quantity import Quantity
from exparity.quantities.scales import over_scales, scales_of
from exparity.quantities.scores import Cell, Scores, covariate_of, places_of, read_scores
from exparity.stats.crossed import crossed_tests
from exparity.stats.remedies import (
    Choice,
    Gap,
    Remedy,
    choices_of,
    choosing_half,
    remedies_of,
)
from exparity.stats.skill import Scale
from exparity.stats.verdicts import STANDING
from exparity.types import BoolArray, FloatArray, IntArray


@analysis(
    "remedies",
    level="model",
    reads=("predictions", "scores", "random_scores", "removal_limits"),
    writes={
        "remedies": Table(
            "metric_kind: string?",
            "quantity: string",
            Remedy,
            keys=("metric", "method"),
            ids=("metric",),
        )
    },
    display="Remedies",
    memory_mb=4000,
    minutes=10,
    statistics=("alpha", "confidence"),
    job_options=where_methods_compete,
    section=findings,
)
def find_remedies(
    predictions: Sequence[Path],
    scores: Sequence[Path],
    random_scores: Sequence[Path] | None,
    removal_limits: Sequence[Path] | None = None,
    *,
    alpha: float = DEFAULTS.alpha,
    confidence: float = DEFAULTS.confidence,
) -> StageResult:
    """Find another method for the group that a method serves worst, by every metric.

    Group and replacement are chosen on half of the matched sets and tried on the other half. What
    is compared is skill, else the excess over random explanations, else the score. Classifiers that
    predict one class are left out, and so are metrics that describe explanations.

    Args:
        predictions: predictions artefacts, one per seed.
        scores: scores artefacts of one dataset and model; one per seed, method and metric.
        random_scores: scores of random explanations by the same metrics; none without the control.
        removal_limits: removal_limits artefacts, one per seed.
        alpha: largest corrected p-value that is significant.
        confidence: coverage of the intervals.

    Raises:
        InputError: a file is damaged or of another dataset or model than the first.
    """
    model = read_scores(scores, random_scores, removal_limits)
    classifiers = read_classifiers(predictions, model.ids)
    counted = [
        cell
        for cell in model.cells
        if cell.draw is None and cell.seed not in classifiers.uninformative
    ]
    rows = []
    for metric, cells in grouped(counted, lambda cell: cell.metric).items():
        quantity = next(q for q in STANDING if all(q in cell.quantities for cell in cells))
        preference = cells[0].preference_of(quantity)
        if preference is None:
            continue
        compared = _Compared.of(cells, model, quantity)
        remedies = compared.remedies(preference == "higher", alpha, confidence)
        facts = {"metric": metric, "metric_kind": cells[0].kind, "quantity": quantity}
        rows += [{**facts, **asdict(remedy)} for remedy in remedies]
    return StageResult(rows, model.ids, model.metadata.compared)


class _Compared(NamedTuple):
    """What is compared of the methods by one metric.

    Attributes:
        cells: the cells of every method, by rising seed.
        quantity: name of what is compared.
        places: (n,) rising places of the texts among all examples.
        groups: (n,) group of each text.
        sets: (n,) matched set of each text.
        order: the groups.
        chooses: (n,) whether a text is of the half that chooses.
    """

    cells: Mapping[str, Sequence[Cell]]
    quantity: str
    places: IntArray
    groups: Sequence[str]
    sets: Sequence[str | None]
    order: Sequence[str]
    chooses: BoolArray

    @classmethod
    def of(cls, cells: Sequence[Cell], model: Scores, quantity: str) -> _Compared:
        """Return the cells of one metric by their method, and their texts."""
        places = places_of(cells)
        groups = model.groups[places].tolist()
        sets = model.sets[places].tolist()
        chooses = choosing_half([model.examples.ids[place] for place in places], groups, sets)
        by_method = {
            method: sorted(own, key=lambda cell: cell.seed)
            for method, own in grouped(cells, lambda cell: cell.method).items()
        }
        return cls(by_method, quantity, places, groups, sets, model.order, chooses)

    def remedies(self, higher_is_better: bool, alpha: float, confidence: float) -> list[Remedy]:
        """Choose on one half, and try on the other."""
        chosen = {method: self._levels(method) for method in self.cells}
        choices = choices_of(chosen, self.order, higher_is_better=higher_is_better)
        reported = {method: self._values(method, ~self.chooses)[0] for method in self.cells}
        gaps = {choice: self._gap(choice, higher_is_better) for choice in choices}
        return remedies_of(
            reported,
            gaps,
            self.groups,
            self.sets,
            higher_is_better=higher_is_better,
            alpha=alpha,
            confidence=confidence,
        )

    def _half(self, method: str, half: BoolArray) -> list[Quantity]:
        """Return what is compared of a method in each training, on half of the texts."""
        quantities = []
        for cell in self.cells[method]:
            own = half[np.searchsorted(self.places, cell.places)]
            quantities.append(cell.quantities[self.quantity].among(own))
        return quantities

    def _values(
        self, method: str, half: BoolArray, scale: Scale | None = None
    ) -> tuple[FloatArray, list[Quantity]]:
        """Return the (s, n) values of a method on half of the texts, as shown or on a scale."""
        quantities = self._half(method, half)
        rows = []
        for cell, quantity in zip(self.cells[method], quantities, strict=True):
            own = quantity.shown if scale is None else quantity.values[scale]
            rows.append(cell.laid(self.places, own))
        return np.array(rows), quantities

    def _levels(self, method: str) -> FloatArray:
        """Return the (g,) level of each group on the half that chooses."""
        values, _ = self._values(method, self.chooses)
        of_texts = np.array(self.groups, dtype=object)
        of_groups = [values[:, of_texts == group] for group in self.order]
        return np.array(
            [np.nanmean(own) if np.isfinite(own).any() else np.nan for own in of_groups]
        )

    def _gap(self, choice: Choice, higher_is_better: bool) -> Gap:
        """Test the gap between the two chosen groups, on the half that did not choose."""
        quantities = self._half(choice.method, ~self.chooses)
        covariate = covariate_of(self.cells[choice.method], self.places)
        tests = {}
        for scale in scales_of(quantities):
            values, _ = self._values(choice.method, ~self.chooses, scale)
            tests[scale] = crossed_tests(
                list(values),
                self.groups,
                (choice.other_group, choice.group),
                self.sets,
                covariate=covariate,
                mean_only=True,
            )
        ((test, _),) = over_scales(quantities, tests)
        sign = 1.0 if higher_is_better else -1.0
        return Gap(sign * test.estimate, test.p_mean)
