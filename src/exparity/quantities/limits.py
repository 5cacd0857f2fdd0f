"""Limits of removal of classifiers: falls in random orders, and in the order of a search."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from exparity.artefacts.files import facts_of, read_artefact
from exparity.artefacts.seal import read_metadata
from exparity.explanations.units import Unit
from exparity.quantities.inputs import Lookup
from exparity.stats.skill import Limits, units_that_count
from exparity.types import Falls

Direction = Literal["removed", "kept"]
"""A step removes its units, or keeps them alone."""


def direction_of(*, higher_is_better: bool) -> Direction:
    """Return whether metrics remove or keep the units of a step, by which score is better."""
    return "removed" if higher_is_better else "kept"


def limits_by_example(
    path: Path, direction: Direction, unit: Unit = "token"
) -> Callable[[str], tuple[Falls, Falls]]:
    """Return a function of an example's id that reads its falls from an artefact.

    It returns the (r, k) falls of the random orders, and the (k,) falls of the reference, at k
    rising sizes.
    """
    table, _ = read_artefact(path, "removal_limits")
    return _falls_by_example(path, table, direction, unit)


def _falls_by_example(
    path: Path, whole_table: pa.Table, direction: Direction, unit: Unit
) -> Callable[[str], tuple[Falls, Falls]]:
    """Return a function of an example's id that looks up its falls in the table of an artefact."""
    chosen = (pc.field("direction") == direction) & (pc.field("unit") == unit)
    table = whole_table.filter(chosen)
    ids, starts = np.unique(table.column("example_id").to_pylist(), return_index=True)
    ends = [*starts[1:], None]  # rows are sorted
    places = zip(ids.tolist(), map(slice, starts, ends), strict=True)
    rows_of = Lookup(path, f"limits for {unit}s {direction} of example", places)
    sizes = table.column("size").to_numpy().astype(np.int64)
    columns = [
        np.array(table.column(name).to_pylist(), dtype=np.float64)
        for name in ("random", "random_log_odds", "reference", "reference_log_odds")
    ]

    def falls_of(example_id: str) -> tuple[Falls, Falls]:
        rows = rows_of[example_id]
        random, random_log_odds, reference, reference_log_odds = columns
        return (
            Falls(sizes[rows], random[rows].T, random_log_odds[rows].T),
            Falls(sizes[rows], reference[rows].T, reference_log_odds[rows].T),
        )

    return falls_of


class Training(NamedTuple):
    """Model and seed of a classifier."""

    model: str
    seed: int


class RemovalLimits:
    """The limits of removal of trained classifiers, an artefact each."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.provenances = [facts_of(read_metadata(path).metadata) for path in paths]
        trainings = [Training(facts.ids.model, facts.ids.seed) for facts in self.provenances]
        self._files = dict(zip(trainings, paths, strict=True))
        self.table = cache(self._read)
        self._falls = cache(self._falls_of_training)
        self.of = cache(self._limits)  # every method and variant of a metric asks for them

    def __contains__(self, training: Training) -> bool:
        return training in self._files

    def __iter__(self) -> Iterator[Training]:
        return iter(self._files)

    def _read(self, training: Training) -> pa.Table:
        table, _ = read_artefact(self._files[training], "removal_limits")
        return table

    def _falls_of_training(
        self, training: Training, direction: Direction, unit: Unit
    ) -> Callable[[str], tuple[Falls, Falls]]:
        path = self._files[training]
        return _falls_by_example(path, self.table(training), direction, unit)

    def _limits(
        self, training: Training, unit: Unit, example: str, *, higher_is_better: bool
    ) -> Limits:
        direction = direction_of(higher_is_better=higher_is_better)
        random, reference = self._falls(training, direction, unit)(example)
        return Limits(
            _with_units(random),
            _with_units(reference),
            higher_is_better=higher_is_better,
            counting=units_that_count(reference),
        )


def _with_units(falls: Falls) -> Falls:
    """Return the falls of the steps that take some unit."""
    has_units = falls.sizes > 0
    return Falls(
        falls.sizes[has_units], falls.probability[..., has_units], falls.log_odds[..., has_units]
    )
