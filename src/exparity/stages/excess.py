"""The scores of random explanations, and what other scores have over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from exparity.core.errors import InputError
from exparity.stages.cell import read_scores
from exparity.stats.excess import excess, mean_by_example
from exparity.types import FloatArray

SCORED_ALIKE = ("use", "params", "precision")
"""Parameters of the metric that scores must share with those of random explanations."""


@dataclass(frozen=True)
class RandomScores:
    """A random_scores artefact.

    Attributes:
        path: the file.
        ids: dataset, model, seed and metric.
        parameters: how it was made.
        table: its rows.
        means: mean score of each example's random explanations; a file serves every method.
    """

    path: Path
    ids: Mapping[str, Any]
    parameters: Mapping[str, Any]
    table: pa.Table
    means: Mapping[str, float]

    @classmethod
    def read(cls, path: Path) -> RandomScores:
        """Read a random_scores artefact."""
        table, metadata = read_scores(path, "random_scores")
        keys, scores = table.column("example_id").to_pylist(), table.column("score").to_numpy()
        means = mean_by_example(keys, scores)
        return cls(path, metadata["wildcards"], metadata["parameters"], table, means)

    def are_scored_as(self, metadata: Mapping[str, Any]) -> bool:
        """Return whether a scores artefact was made by the same metric with the same options."""
        theirs = metadata["parameters"]
        return all(theirs.get(name) == self.parameters.get(name) for name in SCORED_ALIKE)

    def first_draw(self) -> tuple[pa.Table, FloatArray]:
        """Return the rows of one random explanation, and what each has over the others' mean.

        The latter is NaN where there is no other.
        """
        draws = self.table.column("draw").to_numpy()
        is_first = draws == draws.min(initial=0)
        first, others = (self.table.filter(pa.array(chosen)) for chosen in (is_first, ~is_first))
        if not others.num_rows:
            return first, np.full(first.num_rows, np.nan)
        keys, scores = others.column("example_id").to_pylist(), others.column("score").to_numpy()
        return first, replace(self, means=mean_by_example(keys, scores)).excess(first)

    def excess(self, table: pa.Table) -> FloatArray:
        """Return (n,) what each score has over the random explanations of its text."""
        try:
            keys, scores = table.column("example_id").to_pylist(), table.column("score").to_numpy()
            return excess(keys, scores, self.means)
        except InputError as error:
            raise InputError(f"{self.path}: {error}; make it again") from None
