"""Counterfactual data augmentation and substitution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from exparity.core.errors import InputError
from exparity.data.training_set import TrainingSet
from exparity.debiasing import intervention
from exparity.debiasing._cells import cells_of, shuffled_positions, warn_of_empty_cells
from exparity.types import Example, FloatArray


@intervention(
    "counterfactual_data",
    reference="Lu et al. 2020, arXiv:1807.11714; Maudslay et al. 2019, arXiv:1909.00871",
    needs_counterfactuals=True,
)
def counterfactual_data(
    training_set: TrainingSet,
    *,
    mode: Literal["add", "substitute"] = "add",
    weights: Literal["same", "own", "one"] = "same",
) -> TrainingSet:
    """Add the counterfactuals of all examples, or replace half of the examples by one each.

    Args:
        training_set: what to change.
        mode: ``add`` keeps all examples and appends the counterfactuals of each; ``substitute``
            exchanges half of the examples of each class and group, rounded down, for one of their
            counterfactuals each.
        weights: weight of a counterfactual: that of its original (``same``); the mean weight of the
            examples of its class and new group (``own``), or that of its original where there is
            none; or 1 (``one``).

    Raises:
        InputError: no counterfactual has other words than its original.
    """
    examples = training_set.examples
    dataset = training_set.dataset
    everything = range(len(examples))
    chosen = everything if mode == "add" else _half(training_set)
    added: list[Example] = []
    origins: list[int] = []
    for position in chosen:
        counterfactuals = _counterfactuals(training_set, position, mode)
        added += counterfactuals
        origins += [position] * len(counterfactuals)
    changed = [new.words != examples[old].words for new, old in zip(added, origins, strict=True)]
    if chosen and not any(changed):
        raise InputError(
            f"debias counterfactual_data: of {len(chosen)} training examples of '{dataset}', none "
            "has a counterfactual with other words, so that nothing new is trained on; name a "
            f"generator that changes these texts, counterfactuals.{dataset}, or leave out debias"
        )
    added_weights = training_set.take(origins).weights
    if weights == "one":
        added_weights = np.ones(len(added))
    elif weights == "own":
        added_weights = _weights_by_own_group(training_set, added, added_weights)
    kept = everything if mode == "add" else sorted(set(everything) - set(origins))
    remaining = training_set.take(kept)
    return replace(
        remaining,
        examples=[*remaining.examples, *added],
        weights=np.append(remaining.weights, added_weights),
    )


def _weights_by_own_group(
    training_set: TrainingSet, added: Sequence[Example], original_weights: FloatArray
) -> FloatArray:
    """Return the mean weight of the class and group that each counterfactual is of."""
    cells = cells_of(training_set, range(len(training_set.examples)))
    warn_of_empty_cells(
        training_set,
        cells,
        "debias counterfactual_data: no training example of %s; its counterfactuals have the "
        "weights of their originals",
    )
    means = {cell: float(training_set.weights[places].mean()) for cell, places in cells.items()}
    weights = [
        means.get((example.label, example.group), weight)
        for example, weight in zip(added, original_weights.tolist(), strict=True)
    ]
    return np.array(weights, dtype=np.float64)


def _half(training_set: TrainingSet) -> list[int]:
    """Return positions of half of the examples of each cell."""
    cells = cells_of(training_set, range(len(training_set.examples)))
    halves = [
        shuffled_positions(training_set, members)[: len(members) // 2] for members in cells.values()
    ]
    return sorted(position for half in halves for position in half)


def _counterfactuals(training_set: TrainingSet, position: int, mode: str) -> Sequence[Example]:
    """Return an example's counterfactuals: all to add, or one drawn to substitute."""
    assert training_set.counterfactuals is not None  # as the facts demand
    example = training_set.examples[position]
    counterfactuals = training_set.counterfactuals(example)
    if mode == "add" or len(counterfactuals) < 2:
        return counterfactuals
    draws = training_set.generator("group", example.example_id, example.group)
    return [counterfactuals[int(draws.integers(len(counterfactuals)))]]
