"""The scores of a model on a dataset, by what is compared of them: the quantities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from exparity.artefacts.columns import Examples
from exparity.metrics import METRICS
from exparity.stages.cell import Lookup, read_all, require_same_cell
from exparity.stages.controls import RANDOM
from exparity.stages.skill import Controls, Quantity, quantities_of, random_by
from exparity.stats.crossed import PROMPT, TRAINING
from exparity.stats.effect import cohens_d
from exparity.stats.model_bias import is_collapsed
from exparity.types import FloatArray, IntArray

NOT_RELATIVE = "not_relative"
"""Flag of scores that nothing is compared with, so that a gap may be one of the classifier."""


@dataclass(frozen=True)
class Cell:
    """The scores of one training, method and metric.

    Attributes:
        draw: number of a random explanation; None of a method.
        places: (n,) numbers of its examples.
        quantities: what is compared; the first is what was measured.
        direction: whether ``higher`` or ``lower`` is better; None of an unknown metric.
        flags: those of the scores themselves.
        bounds: range of the metric.
    """

    seed: int
    method: str
    metric: str
    draw: int | None
    places: IntArray
    quantities: Mapping[str, Quantity]
    direction: str | None
    flags: Sequence[str]
    bounds: tuple[float, float]

    @property
    def ids(self) -> dict[str, Any]:
        """The ids of its rows."""
        return {"seed": self.seed, "method": self.method, "metric": self.metric}

    @property
    def scores(self) -> FloatArray:
        """(n,) what was measured."""
        return next(iter(self.quantities.values())).shown


@dataclass(frozen=True)
class ModelScores:
    """All scores of a model on a dataset.

    Attributes:
        metadata: that of a scores artefact, which names dataset, model and groups.
        examples: every example that has a score.
    """

    metadata: Mapping[str, Any]
    examples: Examples
    cells: Sequence[Cell]

    @property
    def ids(self) -> dict[str, str]:
        """Dataset and model."""
        return {name: self.metadata["wildcards"][name] for name in ("dataset", "model")}

    @property
    def order(self) -> Sequence[str]:
        """The groups."""
        return list(self.metadata["groups"])

    @cached_property
    def groups(self) -> np.ndarray[Any, Any]:
        """(n,) group of each example."""
        return np.array(self.examples.groups, dtype=object)

    @cached_property
    def sets(self) -> np.ndarray[Any, Any]:
        """(n,) matched set of each example, None for one without."""
        return np.array(self.examples.sets, dtype=object)


def read_scores_of_model(
    scores: Sequence[Path],
    random_scores: Sequence[Path] | None,
    removal_limits: Sequence[Path] | None,
) -> ModelScores:
    """Read the scores of a model, and those of random explanations."""
    examples, cells, controls = Examples(), list[Cell](), Controls(removal_limits or ())
    random = random_by(random_scores, "seed", "metric")
    metadata: dict[str, Any] = {}

    def add(table: pa.Table, facts: Any, method: str, own: Any, draw: int | None = None) -> None:
        quantities = quantities_of(table, facts, own, controls, is_drawn=draw is not None)
        cells.append(_cell(facts, method, draw, examples.places(table), quantities))

    for table, metadata in read_all("scores", scores, over_seeds=True):
        ids = metadata["wildcards"]
        add(table, metadata, str(ids["method"]), random.get((str(ids["seed"]), str(ids["metric"]))))
    model = {name: metadata["wildcards"][name] for name in ("dataset", "model")}
    for one in random.values():
        require_same_cell(("the scores", model), (one.path, one.metadata["wildcards"]))
        for draw, table, others in one.draws():
            add(table, one.metadata, RANDOM, others, draw)
    return ModelScores(metadata, examples, cells)


def _cell(
    metadata: Mapping[str, Any],
    method: str,
    draw: int | None,
    places: IntArray,
    quantities: Mapping[str, Quantity],
) -> Cell:
    use, ids = metadata["parameters"].get("use"), metadata["wildcards"]
    # Metrics of plug-ins may not be loaded here.
    facts = METRICS.get(use).facts if use in METRICS.ids() else None
    flags = list(metadata.get("flags", []))
    if facts is not None and facts.needs == "explainer":
        flags.append(NOT_RELATIVE)  # it has no control
    low, high = metadata.get("bounds", (-np.inf, np.inf))
    cell = int(ids["seed"]), method, str(ids["metric"]), draw, places, quantities
    return Cell(*cell, None if facts is None else facts.direction, flags, (low, high))


def better_group(
    group_a: str, group_b: str, difference: float, direction: str | None
) -> str | None:
    """Return the group whose values are better, given first minus second; None if neither's are."""
    if direction is None or not (difference > 0 or difference < 0):
        return None
    return group_a if (difference > 0) == (direction == "higher") else group_b


@dataclass(frozen=True)
class Classifiers:
    """The classifiers of a model, by seed.

    Attributes:
        accuracy: share of the test examples that each gets right.
        collapsed: those that predict one class.
        uninformative: those, and prompts that the model hardly answers with a class.
        run: a training or a prompt.
        certainty: probability of the true class of the texts of each group.
    """

    accuracy: Mapping[int, float]
    collapsed: frozenset[int]
    uninformative: frozenset[int]
    run: str
    certainty: Mapping[int, Mapping[str, FloatArray]]

    def certainty_d(self, group_a: str, group_b: str) -> float:
        """Return d of the probability of the true class, mean over the informative trainings."""
        pairs = (
            [of.get(group, np.zeros(0)) for group in (group_a, group_b)]
            for seed, of in self.certainty.items()
            if seed not in self.uninformative
        )
        gaps = [float(cohens_d(*pair)) for pair in pairs if min(map(len, pair)) > 1]
        return float(np.mean(gaps)) if gaps else float("nan")


def read_classifiers(predictions: Sequence[Path], model: ModelScores) -> Classifiers:
    """Read what the predictions of each training say of its classifier."""
    accuracy: dict[int, float] = {}
    certainty: dict[int, dict[str, FloatArray]] = {}
    collapsed, unanswered, run = set(), set(), TRAINING
    of_scores = "the scores", model.ids
    for table, metadata in read_all("predictions", predictions, of_scores, over_seeds=True):
        seed, predicted = int(metadata["wildcards"]["seed"]), table.column("predicted").to_numpy()
        labels = table.column("label").to_numpy()
        accuracy[seed] = float((predicted == labels).mean())
        rows = zip(table.column("probabilities").to_pylist(), labels.tolist(), strict=True)
        sure = np.array([row[label] for row, label in rows])
        groups = np.array(table.column("group").to_pylist(), dtype=object)
        certainty[seed] = {group: sure[groups == group] for group in set(groups.tolist())}
        if is_collapsed(predicted):
            collapsed.add(seed)
        if "label_mass_low" in metadata.get("flags", ()):
            unanswered.add(seed)
        if "prompt" in metadata["parameters"]:
            run = PROMPT
    uninformative = frozenset(collapsed | unanswered)
    accuracy = Lookup("--predictions", "file of seed", accuracy.items())
    return Classifiers(accuracy, frozenset(collapsed), uninformative, run, certainty)
