"""Cells of a training set, one for each class and group, and draws from them."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from itertools import product

from exparity.core.grouping import grouped
from exparity.core.seeding import derive_seed
from exparity.data.training_set import TrainingSet

log = logging.getLogger(__name__)
GroupClass = tuple[int, str]
"""A class, by its index, and a group."""


def cells_of(training_set: TrainingSet, positions: Iterable[int]) -> dict[GroupClass, list[int]]:
    """Return the positions of each cell that is not empty, in the order of the training set."""
    examples = training_set.examples
    return grouped(positions, lambda position: (examples[position].label, examples[position].group))


def warn_of_empty_cells(
    training_set: TrainingSet, filled: Collection[GroupClass], message: str
) -> None:
    """Log a message with the names of the cells that no example fills, if there are any."""
    cells = product(enumerate(training_set.labels), training_set.groups)
    if empty := [f"{label}/{group}" for (i, label), group in cells if (i, group) not in filled]:
        log.warning(message, ", ".join(empty))


def shuffled_positions(training_set: TrainingSet, positions: Sequence[int]) -> list[int]:
    """Return positions in a random order, by a hash of the seed and of each example's identity."""
    copies: Counter[Hashable] = Counter()

    def draw(position: int) -> int:
        example = training_set.examples[position]
        key = (example.example_id, example.group)
        copies[key] += 1
        return derive_seed(training_set.seed, "debias", *training_set.draws, *key, copies[key])

    return sorted(positions, key=draw)
