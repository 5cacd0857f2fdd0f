"""Scores of random explanations, and what other scores are above them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from exparity.artefacts.files import read_artefact
from exparity.artefacts.ids import Provenance
from exparity.quantities.inputs import Lookup
from exparity.types import FloatArray

_ALIKE = ("use", "params", "precision")
"""Parameters of scores that can be compared with each other."""


def are_scored_alike(metadata: Provenance, other: Provenance) -> bool:
    """Return whether two artefacts of scores were made by the same metric with the same options."""
    parameters = metadata.parameters
    return all(parameters.get(name) == other.parameters.get(name) for name in _ALIKE)


@dataclass(frozen=True)
class RandomScores:
    """A random_scores artefact.

    Attributes:
        path: the file.
        metadata: how it was made; its ids are dataset, model, seed and metric.
        table: its rows.
        means: mean score of each example's random explanations; a file serves every method.
    """

    path: Path
    metadata: Provenance
    table: pa.Table
    means: Mapping[str, float]

    @classmethod
    def read(cls, path: Path) -> RandomScores:
        """Read a random_scores artefact."""
        table, metadata = read_artefact(path, "random_scores")
        return cls.of(path, metadata, table)

    @classmethod
    def of(cls, path: Path, metadata: Provenance, table: pa.Table) -> RandomScores:
        """Return the rows of an artefact with the means of its texts."""
        return cls(path, metadata, table, _means(path, table))

    def draws(self) -> Iterator[tuple[int, pa.Table, RandomScores | None]]:
        """Yield the number and the rows of each random explanation; with the first, all others.

        The others serve as its control. Later ones have none, since it would show the same.
        """
        drawn = self.table.column("draw").to_numpy()
        first, *rest = np.unique(drawn).tolist()
        others = self.table.filter(drawn != first)
        control = replace(self, table=others, means=_means(self.path, others)) if rest else None
        yield first, self.table.filter(drawn == first), control
        for draw in rest:
            yield draw, self.table.filter(drawn == draw), None

    def has_texts_of(self, table: pa.Table) -> bool:
        """Return whether the texts are those of other scores."""
        return set(table.column("example_id").to_pylist()) == self.means.keys()

    def excess(self, table: pa.Table) -> FloatArray:
        """Return (n,) each score minus the mean of its text's random ones; NaN where one is."""
        keys = table.column("example_id").to_pylist()
        over: FloatArray = table.column("score").to_numpy() - np.array(
            [self.means[key] for key in keys], dtype=np.float64
        )
        return over


def random_by(paths: Sequence[Path] | None, *names: str) -> dict[tuple[str, ...], RandomScores]:
    """Read the scores of random explanations, by some of their ids as text."""
    read = map(RandomScores.read, paths or ())
    return {tuple(str(scores.metadata.ids[name]) for name in names): scores for scores in read}


def _means(path: Path, table: pa.Table) -> Lookup[str, float]:
    """Return the mean score of each example's random explanations; NaN where one of them is."""
    keys = np.asarray(table.column("example_id").to_pylist(), dtype=str)
    examples, owners = np.unique(keys, return_inverse=True)
    means = np.bincount(owners, weights=table.column("score").to_numpy()) / np.bincount(owners)
    content = zip(examples.tolist(), means.tolist(), strict=True)
    return Lookup(path, "random explanation of example", content)
