"""The scores of random explanations, and what other scores have over them: the excess."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from exparity.core.errors import InputError
from exparity.stages.cell import read_scores
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
        return cls(path, metadata["wildcards"], metadata["parameters"], table, _means(table))

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
        return first, replace(self, means=_means(others)).excess(first)

    def excess(self, table: pa.Table) -> FloatArray:
        """Return (n,) each score minus the mean of its text's random ones; NaN where one is."""
        keys = table.column("example_id").to_pylist()
        missing = set(keys) - self.means.keys()
        if missing:
            raise InputError(
                f"{self.path}: example '{min(missing)}' has no score of a random explanation; make "
                "it again"
            )
        over: FloatArray = table.column("score").to_numpy() - np.array(
            [self.means[key] for key in keys], dtype=np.float64
        )
        return over


def random_by(paths: Sequence[Path] | None, *names: str) -> dict[tuple[str, ...], RandomScores]:
    """Read the scores of random explanations, by some of their ids as text."""
    read = map(RandomScores.read, paths or ())
    return {tuple(str(random.ids[name]) for name in names): random for random in read}


def excess_over(
    random: RandomScores | None, table: pa.Table, metadata: Mapping[str, Any]
) -> FloatArray:
    """Return the excess of scores; NaN where no random ones are by the same metric and options."""
    if random is None or not random.are_scored_as(metadata):
        return np.full(table.num_rows, np.nan)
    return random.excess(table)


def _means(table: pa.Table) -> dict[str, float]:
    """Return the mean score of each example's random explanations; NaN where one of them is."""
    keys = np.asarray(table.column("example_id").to_pylist(), dtype=str)
    examples, owners = np.unique(keys, return_inverse=True)
    means = np.bincount(owners, weights=table.column("score").to_numpy()) / np.bincount(owners)
    return dict(zip(examples.tolist(), means.tolist(), strict=True))
