"""The scores of several models on one dataset, those of random explanations, and model bias."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from exparity.artefacts.examples import Examples
from exparity.artefacts.files import read_artefact
from exparity.core.errors import InputError
from exparity.stages.cell import compared_in, read_scores, require_same_cell
from exparity.stages.excess import RandomScores
from exparity.stages.skill import Controls, Skill, controls_by_model, skill_of
from exparity.stats.skill import Scale
from exparity.types import FloatArray, IntArray

NAN = math.nan
Cell = tuple[str, str, str, int]
"""Model, method, metric and seed."""


@dataclass(frozen=True)
class ScoredCell:
    """The scores of one cell.

    Attributes:
        path: the file.
        places: (n,) numbers of its examples.
        quantities: (n,) their scores, and what these have over random explanations where there are
            some.
        skill: that of the explanations; None without.
        metadata: of the file.
    """

    path: Path
    places: IntArray
    quantities: Mapping[str, FloatArray]
    skill: Skill | None
    metadata: Mapping[str, Any]

    @property
    def names(self) -> Sequence[str]:
        """The quantities that its explanations have."""
        return [*self.quantities, *["skill"] * (self.skill is not None)]

    def values(self, quantity: str, scale: Scale | None) -> FloatArray:
        """Return (n,) values of a quantity, of skill on a scale."""
        if scale is None or self.skill is None:
            return self.quantities[quantity]
        return self.skill.values[scale]


class ClassifierBias:
    """What the bias artefact says of one trained classifier."""

    def __init__(self, table: pa.Table) -> None:
        columns = ("quantity", "group", "group_b", "class_name", "value")
        rows = zip(*(table.column(name).to_pylist() for name in columns), strict=True)
        self._values = {tuple(key): float(value) for *key, value in rows}
        flags = (flag for flags in table.column("flags").to_pylist() for flag in flags)
        self.collapsed = "collapsed" in flags

    def value(self, quantity: str, group: str = "", group_b: str = "") -> float:
        """Return a quantity over all classes, of all examples or two groups; NaN if none."""
        return self._values.get((quantity, group, group_b, ""), NAN)


class Scored:
    """The scores of some models on one dataset, those of random explanations, and their bias.

    Args:
        models: which.
        removal_limits: removal_limits artefacts of the dataset, for the skill of explanations.

    Attributes:
        examples: all examples that have a score.
        cells: by model, method, metric and seed.
        draws: numbers of the examples and (r, n) scores of each random explanation, by model,
            metric and seed.
        classifiers: by model and seed.
        facts: metadata of the first scores.
    """

    def __init__(self, models: Sequence[str], removal_limits: Sequence[Path]) -> None:
        self._models = models
        self._controls = controls_by_model(removal_limits)
        self._random: dict[tuple[str, str, int], RandomScores] = {}
        self.examples = Examples()
        self.cells: dict[Cell, ScoredCell] = {}
        self.draws: dict[tuple[str, str, int], tuple[IntArray, FloatArray]] = {}
        self.classifiers: dict[tuple[str, int], ClassifierBias] = {}
        self.facts: Mapping[str, Any] = {}

    def add_bias(self, path: Path) -> None:
        """Add a bias artefact."""
        table, metadata = read_artefact(path, "bias")
        model, seeds = str(metadata["wildcards"]["model"]), table.column("seed").to_numpy()
        for seed in np.unique(seeds):
            of_seed = table.filter(pa.array(seeds == seed))
            self.classifiers[model, int(seed)] = ClassifierBias(of_seed)

    def add_random(self, path: Path) -> None:
        """Add a random_scores artefact."""
        random = RandomScores.read(path)
        ids = random.ids
        if ids["model"] not in self._models:
            return
        key = str(ids["model"]), str(ids["metric"]), int(ids["seed"])
        self._random[key] = random
        numbers = random.table.column("draw").to_numpy()
        parts = [random.table.filter(pa.array(numbers == draw)) for draw in np.unique(numbers)]
        places = [self.examples.places(path, part) for part in parts]
        # Rows are sorted by example, so that every draw has the same order.
        scores = np.array([part.column("score").to_numpy() for part in parts])
        self.draws[key] = places[0], scores

    def add(self, path: Path) -> None:
        """Add a scores artefact, after those of random explanations."""
        table, metadata = read_scores(path)
        ids = metadata["wildcards"]
        if ids["model"] not in self._models:
            return
        self.facts = self.facts or metadata
        compared = [compared_in(one) for one in (metadata, self.facts)]
        first = {"dataset": self.facts["wildcards"]["dataset"]}
        require_same_cell(("the first file", first), (path, {"dataset": ids["dataset"]}))
        if compared[0] != compared[1]:
            raise InputError(f"{path}: compares other groups than the first file; evaluate again")
        cell = str(ids["model"]), str(ids["method"]), str(ids["metric"]), int(ids["seed"])
        if cell in self.cells:
            raise InputError(f"{path}: is of the same cell as {self.cells[cell].path}")
        random = self._random.get((cell[0], cell[2], cell[3]))
        quantities, skill = {"score": table.column("score").to_numpy()}, None
        if random is not None and random.are_scored_as(metadata):
            quantities["excess"] = random.excess(table)
            controls = self._controls.get(cell[0]) or Controls(())
            skill = skill_of(table, metadata, random, controls)
        places = self.examples.places(path, table)
        self.cells[cell] = ScoredCell(path, places, quantities, skill, metadata)
