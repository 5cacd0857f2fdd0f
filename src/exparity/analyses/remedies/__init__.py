"""Analysis remedies: what serves the group better that a method serves worse?

Another method for this group, the mean of two, a debiased classifier, or a temperature by group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np

from exparity.analyses import CHANCE_IS_ZERO, ExperimentView, StageResult, Table, analysis
from exparity.analyses._recipes import recipes_of
from exparity.analyses.remedies._compared import Compared, HalvedTexts
from exparity.analyses.remedies._means import JOIN, Explained, means_of_pairs
from exparity.analyses.remedies._temperatures import (
    RecalibratedLimits,
    recalibrated_cell,
    surenesses,
)
from exparity.analyses.remedies.section import findings
from exparity.artefacts.columns import records
from exparity.artefacts.files import facts_of, read_artefact
from exparity.artefacts.ids import Ids
from exparity.artefacts.seal import read_metadata
from exparity.core.flags import Flag
from exparity.core.grouping import grouped
from exparity.core.settings import DEFAULTS
from exparity.data.table import read_prepared
from exparity.quantities.classifiers import Classifiers, read_classifiers
from exparity.quantities.inputs import Lookup, Prediction
from exparity.quantities.limits import RemovalLimits
from exparity.quantities.random_scores import RandomScores, are_scored_alike, random_by
from exparity.quantities.scores import Cell, Scores, read_scores
from exparity.stats.means import mean_of_finite
from exparity.stats.remedies import (
    Choice,
    Instead,
    Remedy,
    choices_of,
    extremes_of,
    remedies_of,
)
from exparity.stats.verdicts import HEADLINE, STANDING
from exparity.types import Example, FloatArray

Recipes = Annotated[Mapping[str, Sequence[str]] | None, Flag(hidden=True)]


def _job_options(experiment: ExperimentView, ids: Ids) -> dict[str, dict[str, list[str]]] | None:
    """Find the debiased models of a dataset; none where there is nothing to try either."""
    recipes = recipes_of(experiment, ids.dataset)
    return {"recipes": recipes} if recipes or len(experiment.methods) > 1 else None


@analysis(
    "remedies",
    level="dataset",
    reads=(
        "data",
        "predictions",
        "scores",
        "random_scores",
        "removal_limits",
        "explanations",
        "foresight",
    ),
    metric_needs={"foresight": CHANCE_IS_ZERO},
    writes={
        "remedies": Table(
            "metric_kind: string?",
            "quantity: string",
            Remedy,
            keys=("model", "metric", "method", "kind"),
            ids=("model", "metric"),
        )
    },
    display="Remedies",
    memory_mb=4000,
    minutes=20,
    statistics=("alpha", "confidence"),
    job_options=_job_options,
    section=findings,
)
def find_remedies(
    data: Path,
    predictions: Sequence[Path],
    scores: Sequence[Path],
    random_scores: Sequence[Path] | None,
    removal_limits: Sequence[Path] | None,
    explanations: Sequence[Path],
    foresight: Sequence[Path] | None,
    *,
    recipes: Recipes = None,
    alpha: float = DEFAULTS.alpha,
    confidence: float = DEFAULTS.confidence,
) -> StageResult:
    """Find what serves the group better that a method serves worst, by every metric.

    Group and remedy are chosen on half of the matched sets and tried on the other half. What is
    compared is skill, else the excess over random explanations, else the score. The mean of two
    methods is tried where forward simulation can score it without a pass of the model, and a
    temperature by group where scores are means of falls. Classifiers that predict one class are
    left out, and so are metrics that describe explanations.

    Args:
        data: the data artefact.
        predictions: predictions artefacts, one per model and seed.
        scores: scores artefacts of one dataset; one per model, seed, method and metric.
        random_scores: scores of random explanations by the same metrics; none without the control.
        removal_limits: removal_limits artefacts, one per model and seed.
        explanations: explanations artefacts, one per model, seed and method.
        foresight: foresight artefacts, one per model, seed and metric.
        recipes: debiased models, by the model that differs from them in debiasing alone.
        alpha: largest corrected p-value that is significant.
        confidence: coverage of the intervals.

    Raises:
        InputError: a file is damaged or of another dataset than the first.
    """
    study = _Study(
        data,
        _by_ids(predictions, "model", "seed"),
        scores,
        random_scores,
        removal_limits,
        _by_ids(explanations, "model", "seed", "method"),
        _by_ids(foresight or (), "model", "seed", "metric"),
    )
    rows = []
    for metric, cells in grouped(study.informative, lambda cell: cell.metric).items():
        quantity = next(q for q in STANDING if all(q in cell.quantities for cell in cells))
        preference = cells[0].preference_of(quantity)
        if preference is None:
            continue
        trial = _Trial(
            study, cells, quantity, recipes or {}, preference == "higher", alpha, confidence
        )
        facts = {"metric": metric, "metric_kind": cells[0].kind, "quantity": quantity}
        rows += [
            {**facts, "model": model, **asdict(remedy)}
            for model in trial.models
            for remedy in trial.remedies(model)
        ]
    metadata = study.scores.metadata
    return StageResult(rows, {"dataset": metadata.ids.dataset}, metadata.compared)


def _by_ids(paths: Sequence[Path], *names: str) -> dict[tuple[str, ...], Path]:
    """Return artefacts by some of their ids as text."""
    paths_by_ids = {}
    for path in paths:
        ids = facts_of(read_metadata(path).metadata).ids
        paths_by_ids[tuple(str(ids[name]) for name in names)] = path
    return paths_by_ids


@dataclass(frozen=True)
class _Study:
    """What is stored of one dataset: files by model and seed.

    Explanations are by method as well, and foresight by metric.
    """

    data: Path
    predictions: Mapping[tuple[str, ...], Path]
    scored: Sequence[Path]
    random_scored: Sequence[Path] | None
    limits: Sequence[Path] | None
    explanations: Mapping[tuple[str, ...], Path]
    foresight: Mapping[tuple[str, ...], Path]

    @cached_property
    def models(self) -> list[str]:
        """The models."""
        return list(dict.fromkeys(model for model, _ in self.predictions))

    @cached_property
    def scores(self) -> Scores:
        """The scores of all models."""
        return read_scores(self.scored, self.random_scored, self.limits, self.models)

    @cached_property
    def classifiers(self) -> dict[str, Classifiers]:
        """The classifiers by model."""
        dataset = self.scores.ids.dataset
        return {
            model: read_classifiers(
                [path for ids, path in self.predictions.items() if ids[0] == model],
                Ids(dataset=dataset, model=model),
            )
            for model in self.models
        }

    @property
    def informative(self) -> list[Cell]:
        """Scores of classifiers that predict more than one class."""
        return [
            cell
            for cell in self.scores.cells
            if cell.seed not in self.classifiers[cell.model].uninformative
        ]

    @cached_property
    def examples(self) -> Lookup[str, Example]:
        """The test texts by id."""
        prepared = read_prepared(self.data, "test")
        content = ((example.example_id, example) for example in prepared.examples)
        return Lookup(self.data, "example", content)

    @cached_property
    def random(self) -> dict[tuple[str, ...], RandomScores]:
        """Scores of random explanations by model, seed and metric."""
        return random_by(self.random_scored, "model", "seed", "metric")

    @cached_property
    def removal_limits(self) -> RemovalLimits:
        """Limits of removal of all trainings."""
        return RemovalLimits(self.limits or ())

    def explained(self, cell: Cell) -> Explained:
        """Return the explanations that a cell has scores of."""
        return Explained.read(self.explanations[cell.model, str(cell.seed), cell.method])


@dataclass(frozen=True)
class _Trial:
    """Remedies of one metric on a dataset."""

    study: _Study
    cells: Sequence[Cell]
    quantity: str
    recipes: Mapping[str, Sequence[str]]
    higher_is_better: bool
    alpha: float
    confidence: float

    @cached_property
    def texts(self) -> HalvedTexts:
        """The texts in halves, the same for all models."""
        return HalvedTexts.of(self.cells, self.study.scores)

    @cached_property
    def compared(self) -> dict[str, Compared]:
        """What is compared of each model."""
        return {
            model: Compared.of(cells, self.quantity, self.texts)
            for model, cells in grouped(self.cells, lambda cell: cell.model).items()
        }

    @property
    def models(self) -> list[str]:
        """The models whose methods have remedies: those that are not debiased versions."""
        recipes = {recipe for several in self.recipes.values() for recipe in several}
        return [model for model in self.compared if model not in recipes]

    def remedies(self, model: str) -> list[Remedy]:
        """Choose on one half, and try on the other."""
        compared = self.compared[model]
        texts = self.texts
        before = {name: compared.values(name, chooses=True) for name in compared.cells}
        reported = {name: compared.values(name, chooses=False) for name in compared.cells}
        means = self._means(compared) if self.cells[0].kind == HEADLINE else {}
        instead = {name: self._instead(model, name, before, means, chooses=True) for name in before}
        choices = choices_of(
            {name: texts.levels(values) for name, values in before.items()},
            {
                method: {
                    candidate: texts.levels(values) for candidate, values in candidates.items()
                }
                for method, candidates in instead.items()
            },
            texts.order,
            higher_is_better=self.higher_is_better,
        )
        tried: dict[Choice, FloatArray] = {}
        gaps = {}
        for choice in choices:
            candidates = self._instead(model, choice.method, reported, means, chooses=False)
            tried[choice] = candidates[choice.instead]
            if choice.method not in gaps:
                gaps[choice.method] = compared.gap(
                    choice.method,
                    choice.group,
                    choice.other_group,
                    higher_is_better=self.higher_is_better,
                )
        remedies = remedies_of(
            reported,
            tried,
            gaps,
            texts.groups,
            texts.sets,
            higher_is_better=self.higher_is_better,
            alpha=self.alpha,
            confidence=self.confidence,
        )
        with_temperatures = [*remedies, *self._temperatures(model, before, reported)]
        return [self._with_accuracy(model, remedy) for remedy in with_temperatures]

    def _instead(
        self,
        model: str,
        method: str,
        values: Mapping[str, FloatArray],
        means: Mapping[tuple[str, str], FloatArray],
        *,
        chooses: bool,
    ) -> dict[Instead, FloatArray]:
        """Return the (s, n) values on a half of what a method may be replaced by."""
        seeds = self.compared[model].seeds(method)
        instead = {
            Instead("method", name): _of_seeds(rows, self.compared[model].seeds(name), seeds)
            for name, rows in values.items()
            if name != method
        }
        half = self.texts.chooses if chooses else ~self.texts.chooses
        for pair, rows in means.items():
            if method in pair:
                instead[Instead("mean", JOIN.join(pair))] = np.where(half, rows, np.nan)
        for recipe in self.recipes.get(model, ()):
            other = self.compared.get(recipe)
            if other is not None and self._are_alike(model, recipe, method):
                rows = other.values(method, chooses=chooses)
                instead[Instead("debiasing", recipe)] = _of_seeds(rows, other.seeds(method), seeds)
        return instead

    def _are_alike(self, model: str, recipe: str, method: str) -> bool:
        """Return whether a method is scored alike with both models."""
        pair = [self.compared[name].cells.get(method, ()) for name in (model, recipe)]
        cells = [cell for several in pair for cell in several]
        return all(pair) and all(
            are_scored_alike(cells[0].metadata, cell.metadata) for cell in cells
        )

    def _means(self, compared: Compared) -> dict[tuple[str, str], FloatArray]:
        """Return the (s, n) scores of the mean of every two methods."""
        seeds = [compared.seeds(method) for method in compared.cells]
        if any(others != seeds[0] for others in seeds):
            return {}
        rows: dict[tuple[str, str], list[FloatArray]] = {}
        for cells in zip(*compared.cells.values(), strict=True):
            explained = {cell.method: self.study.explained(cell) for cell in cells}
            foresight = self.study.foresight[cells[0].model, str(cells[0].seed), cells[0].metric]
            scores = means_of_pairs(cells, explained, foresight, self.study.examples)
            for pair, by_text in scores.items():
                values = [by_text.get(example, np.nan) for example in self.texts.ids]
                rows.setdefault(pair, []).append(np.array(values))
        return {pair: np.array(values) for pair, values in rows.items()}

    def _temperatures(
        self, model: str, before: Mapping[str, FloatArray], reported: Mapping[str, FloatArray]
    ) -> Iterator[Remedy]:
        """Yield what a temperature for each group makes of every method, where that is known."""
        compared = self.compared[model]
        texts = self.texts
        for method, cells in compared.cells.items():
            extremes = extremes_of(
                texts.levels(before[method]), texts.order, higher_is_better=self.higher_is_better
            )
            recalibrated = [self._recalibrated(cell) for cell in cells]
            after_cells = [cell for cell in recalibrated if cell is not None]
            if extremes is None or len(after_cells) < len(cells):
                continue
            after = Compared.of(after_cells, self.quantity, texts)
            levels = self._levels(reported[method], extremes)
            levels_after = self._levels(after.values(method, chooses=False), extremes)
            sign = 1.0 if self.higher_is_better else -1.0
            score_levels = [
                self._levels(
                    part._replace(quantity="score").values(method, chooses=False), extremes
                )
                for part in (compared, after)
            ]
            # The gap in scores is positive where the other group has the better ones.
            by_score = 1.0 if cells[0].preference_of("score") == "higher" else -1.0
            yield Remedy(
                method,
                *extremes,
                "temperature",
                "",
                n_seeds=len(cells),
                n_texts=int((~texts.chooses & texts.are_of(extremes[0])).sum()),
                level=levels[0],
                level_after=levels_after[0],
                other_level=levels[1],
                other_level_after=levels_after[1],
                gain=sign * (levels_after[0] - levels[0]),
                gap=sign * (levels[1] - levels[0]),
                gap_after=sign * (levels_after[1] - levels_after[0]),
                score_gap=by_score * (score_levels[0][1] - score_levels[0][0]),
                score_gap_after=by_score * (score_levels[1][1] - score_levels[1][0]),
            )

    def _levels(self, values: FloatArray, groups: tuple[str, str]) -> tuple[float, float]:
        """Return the mean of (s, n) values in two groups."""
        first, second = groups
        return (
            mean_of_finite(values[:, self.texts.are_of(first)]),
            mean_of_finite(values[:, self.texts.are_of(second)]),
        )

    def _recalibrated(self, cell: Cell) -> Cell | None:
        """Return a training's scores with a temperature for each group, fitted on one half."""
        study = self.study
        ids = cell.model, str(cell.seed)
        if cell.facts is None or not cell.facts.keeps_falls:
            return None
        table, _ = read_artefact(study.predictions[ids], "predictions")
        targets = {key: row.target for key, row in study.explained(cell).rows.items()}
        halves = dict(zip(self.texts.ids, self.texts.chooses.tolist(), strict=True))
        sure = surenesses(records(Prediction, table), targets, halves)
        limits = RecalibratedLimits(study.removal_limits, sure)
        random = study.random.get((*ids, cell.metric))
        after = recalibrated_cell(cell, random, limits, sure)
        return after if after is not None and self.quantity in after.quantities else None

    def _with_accuracy(self, model: str, remedy: Remedy) -> Remedy:
        """Return a remedy with what the classifiers get right before and after."""
        compared = self.compared[model]
        seeds = compared.seeds(remedy.method)
        model_after = remedy.replacement if remedy.kind == "debiasing" else model
        known_seeds = self.compared[model_after].seeds(remedy.method)
        seeds_after = [seed for seed in seeds if seed in known_seeds]
        classifiers = self.study.classifiers
        return replace(
            remedy,
            accuracy=compared.accuracy(classifiers[model], seeds, remedy.group),
            accuracy_after=compared.accuracy(classifiers[model_after], seeds_after, remedy.group),
            other_accuracy=compared.accuracy(classifiers[model], seeds, remedy.other_group),
            other_accuracy_after=compared.accuracy(
                classifiers[model_after], seeds_after, remedy.other_group
            ),
        )


def _of_seeds(values: FloatArray, seeds: Sequence[int], chosen_seeds: Sequence[int]) -> FloatArray:
    """Return the rows of (s, n) values of the wanted seeds, NaN where there is none."""
    by_seed = dict(zip(seeds, values, strict=True))
    unknown = np.full(values.shape[1], np.nan)
    return np.array([by_seed.get(seed, unknown) for seed in chosen_seeds])
