"""The scores of a model on a dataset, by what is compared of them: the quantities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from exparity.artefacts.columns import Examples, laid
from exparity.methods.facts import RANDOM
from exparity.metrics import METRICS
from exparity.metrics.facts import MetricFacts
from exparity.stages.cell import Lookup, read_all, require_same_cell
from exparity.stages.skill import Controls, Quantity, is_skill, quantities_of, random_by
from exparity.stats.crossed import PROMPT, TRAINING
from exparity.stats.effect import cohens_d
from exparity.stats.model_bias import is_collapsed
from exparity.types import BoolArray, FloatArray, IntArray

_CONTROLLED = ("model", "seed", "metric")
"""Ids that scores share with those of random explanations."""
NOT_RELATIVE = "not_relative"
"""Flag of scores that nothing is compared with, so that a gap may be one of the classifier."""


@dataclass(frozen=True)
class Cell:
    """The scores of one training, method and metric.

    Attributes:
        path: the file.
        metadata: of the file.
        method: the method; of random explanations too.
        draw: number of a random explanation; None of a method.
        places: (n,) numbers of its examples.
        quantities: what is compared; the first is what was measured.
        n_units: (n,) units of each text, of metrics of forward simulation alone.
        ceilings: (n,) what an additive explanation could reach, of the same.
    """

    path: Path
    metadata: Mapping[str, Any]
    method: str
    draw: int | None
    places: IntArray
    quantities: Mapping[str, Quantity]
    n_units: FloatArray | None = None
    ceilings: FloatArray | None = None

    @property
    def seed(self) -> int:
        """Seed of the training."""
        return int(self.metadata["wildcards"]["seed"])

    @property
    def metric(self) -> str:
        """The metric."""
        return str(self.metadata["wildcards"]["metric"])

    @property
    def facts(self) -> MetricFacts | None:
        """Facts of the metric; None of one of a plug-in, which may not be loaded here."""
        use = self.metadata["parameters"].get("use")
        return METRICS.get(use).facts if use in METRICS.ids() else None

    def direction_of(self, quantity: str) -> str | None:
        """Return whether ``higher`` or ``lower`` values are better; None of an unknown metric."""
        if is_skill(quantity):
            return "higher"
        return None if self.facts is None else self.facts.direction

    def preference_of(self, quantity: str) -> str | None:
        """Return the same; None where neither is, as of a description."""
        if is_skill(quantity):
            return "higher"
        return None if self.facts is None else self.facts.preference

    @property
    def kind(self) -> str | None:
        """Property of explanations that the metric measures; None of an unknown metric."""
        return None if self.facts is None else self.facts.kind

    @property
    def measured(self) -> FloatArray:
        """(n,) what the metric gave."""
        return next(iter(self.quantities.values())).shown

    def among(self, chosen: BoolArray) -> Cell:
        """Return the cell of some of its (n,) texts, whose quantities are undefined elsewhere."""
        some = {name: quantity.among(chosen) for name, quantity in self.quantities.items()}
        return replace(self, quantities=some)

    def laid(self, places: IntArray, values: FloatArray) -> FloatArray:
        """Return values of its examples at those of rising places, NaN at the others."""
        return laid(values, np.searchsorted(places, self.places), len(places))

    @property
    def flags(self) -> Sequence[str]:
        """Those of the scores themselves."""
        has_control = self.facts is None or self.facts.needs != "explainer"
        if self.facts is not None and self.facts.scores_together:
            has_control = len(self.quantities) > 1
        return [*self.metadata.get("flags", []), *([] if has_control else [NOT_RELATIVE])]


@dataclass(frozen=True)
class Scores:
    """All scores of a model, or of some models, on a dataset.

    Attributes:
        examples: every example that has a score.
        cells: the scores by training, method and metric.
    """

    examples: Examples
    cells: Sequence[Cell]

    @property
    def metadata(self) -> Mapping[str, Any]:
        """That of a scores artefact, which names dataset, model and groups."""
        return self.cells[0].metadata

    @property
    def ids(self) -> dict[str, str]:
        """Dataset and model."""
        return {name: self.metadata["wildcards"][name] for name in ("dataset", "model")}

    @property
    def order(self) -> Sequence[str]:
        """The groups."""
        return list(self.metadata["groups"])

    def ids_at(self, cell: Cell) -> list[str]:
        """Return the ids of the examples of a cell."""
        return [self.examples.ids[place] for place in cell.places]

    @cached_property
    def groups(self) -> np.ndarray[Any, Any]:
        """(n,) group of each example."""
        return np.array(self.examples.groups, dtype=object)

    @cached_property
    def sets(self) -> np.ndarray[Any, Any]:
        """(n,) matched set of each example, None for one without."""
        return np.array(self.examples.sets, dtype=object)


def read_scores(
    scores: Sequence[Path],
    random_scores: Sequence[Path] | None,
    removal_limits: Sequence[Path] | None,
    models: Sequence[str] | None = None,
) -> Scores:
    """Read the scores of one model, and those of random explanations.

    Of several ``models`` on one dataset, random explanations are the control alone.
    """
    examples, cells, controls = Examples(), list[Cell](), Controls(removal_limits or ())
    random = random_by(random_scores, *_CONTROLLED)

    def add(path: Path, table: pa.Table, facts: Any, own: Any, draw: int | None = None) -> None:
        method = str(facts["wildcards"]["method"]) if draw is None else RANDOM
        quantities = quantities_of(table, facts, own, controls, is_drawn=draw is not None)
        known = {"n_units": _known(table, "n_units"), "ceilings": _known(table, "ceiling")}
        cells.append(Cell(path, facts, method, draw, examples.places(table), quantities, **known))

    over = ("seed", "model") if models else ("seed",)
    for path, (table, metadata) in zip(scores, read_all("scores", scores, over=over), strict=True):
        ids = metadata["wildcards"]
        if models is None or ids["model"] in models:
            add(path, table, metadata, random.get(tuple(str(ids[name]) for name in _CONTROLLED)))
    every = Scores(examples, cells)
    for one in random.values() if models is None else ():
        require_same_cell(("the scores", every.ids), (one.path, one.metadata["wildcards"]))
        for draw, table, others in one.draws():
            add(one.path, table, one.metadata, others, draw)
    return every


def places_of(cells: Sequence[Cell]) -> IntArray:
    """Return the rising places of all examples that some cells have scores of."""
    return np.unique(np.concatenate([cell.places for cell in cells]))


def _known(table: pa.Table, name: str) -> FloatArray | None:
    """Return a column that scores may lack."""
    if name not in table.column_names:
        return None
    return np.asarray(table.column(name).to_numpy(), dtype=np.float64)


@dataclass(frozen=True)
class Classifiers:
    """The classifiers of a model, by seed.

    Attributes:
        accuracy: share of the test examples that each gets right.
        collapsed: those that predict one class.
        uninformative: those, and prompts that the model hardly answers with a class.
        run: a training or a prompt.
        certainty: probability of the true class of the texts of each group.
        right: whether each text, by its id, is predicted rightly.
        share_right: share of each group that is.
    """

    accuracy: Mapping[int, float]
    collapsed: frozenset[int]
    uninformative: frozenset[int]
    run: str
    certainty: Mapping[int, Mapping[str, FloatArray]]
    right: Mapping[int, Mapping[str, bool]]
    share_right: Mapping[int, Mapping[str, float]]

    def are_right(self, seed: int, ids: Sequence[str]) -> BoolArray:
        """Return (n,) whether a training is known to predict each text rightly."""
        right = self.right[seed]
        return np.array([right.get(id, False) for id in ids], dtype=bool)

    def mean_share_right(self, group: str) -> float:
        """Return the share of a group that is predicted rightly, mean over the informative ones."""
        shares = [
            of_groups[group]
            for seed, of_groups in self.share_right.items()
            if seed not in self.uninformative and group in of_groups
        ]
        return float(np.mean(shares)) if shares else np.nan

    def certainty_d(self, group_a: str, group_b: str) -> float:
        """Return d of the probability of the true class, mean over the informative trainings."""
        pairs = (
            [of.get(group, np.zeros(0)) for group in (group_a, group_b)]
            for seed, of in self.certainty.items()
            if seed not in self.uninformative
        )
        gaps = [float(cohens_d(*pair)) for pair in pairs if min(map(len, pair)) > 1]
        return float(np.mean(gaps)) if gaps else np.nan


def read_classifiers(predictions: Sequence[Path], ids: Mapping[str, str]) -> Classifiers:
    """Read what the predictions of each training say of its classifier.

    ``ids`` are the dataset and model that they have to be of.
    """
    accuracy: dict[int, float] = {}
    certainty: dict[int, dict[str, FloatArray]] = {}
    right: dict[int, dict[str, bool]] = {}
    share_right: dict[int, dict[str, float]] = {}
    collapsed, unanswered, run = set(), set(), TRAINING
    same_cell = "the scores", ids
    for table, metadata in read_all("predictions", predictions, same_cell, over=("seed",)):
        seed, predicted = int(metadata["wildcards"]["seed"]), table.column("predicted").to_numpy()
        labels = table.column("label").to_numpy()
        is_right = predicted == labels
        accuracy[seed] = float(is_right.mean())
        examples = table.column("example_id").to_pylist()
        right[seed] = dict(zip(examples, is_right.tolist(), strict=True))
        rows = zip(table.column("probabilities").to_pylist(), labels.tolist(), strict=True)
        sure = np.array([row[label] for row, label in rows])
        groups = np.array(table.column("group").to_pylist(), dtype=object)
        names = set(groups.tolist())
        certainty[seed] = {group: sure[groups == group] for group in names}
        share_right[seed] = {group: float(is_right[groups == group].mean()) for group in names}
        if is_collapsed(predicted):
            collapsed.add(seed)
        if "label_mass_low" in metadata.get("flags", ()):
            unanswered.add(seed)
        if "prompt" in metadata["parameters"]:
            run = PROMPT
    uninformative = frozenset(collapsed | unanswered)
    accuracy = Lookup("--predictions", "file of seed", accuracy.items())
    return Classifiers(
        accuracy, frozenset(collapsed), uninformative, run, certainty, right, share_right
    )
