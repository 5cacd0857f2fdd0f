"""Training set of a classifier: examples, their weights and the held-out examples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from exparity.core.seeding import generator
from exparity.data.table import PreparedData, sample
from exparity.types import Example, FloatArray, locked

MADE_BY = "made_by"
"""Attribute of an example that is not of the data: the intervention that made it."""


VALIDATES = "validates"
"""Attribute of an example that the data hold out from training: the part that it is of."""


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Training set of a classifier. Interventions make another with ``dataclasses.replace``.

    Attributes:
        dataset: id of the dataset's instance.
        groups: groups in their declared order.
        labels: class names by label index.
        examples: (n,) in the order of training, before epochs shuffle it; one may be there often.
        weights: (n,) factors of the examples' losses, not negative. A batch's loss is the mean of
            its weighted losses, not divided by the sum of the weights.
        held_out: what validates; interventions leave it alone.
        seed: the run's seed.
        per_epoch: examples that an epoch takes; all of them, once, if None.
        draws: what an intervention's random draws are keyed by.
        counterfactuals: returns an example's counterfactuals, one for each other group that one can
            be made for; None where the config names no generator for the dataset.
    """

    dataset: str
    groups: tuple[str, ...]
    labels: tuple[str, ...]
    examples: Sequence[Example]
    weights: FloatArray
    held_out: Sequence[Example]
    seed: int
    per_epoch: int | None = None
    draws: tuple[str | int, ...] = ()
    counterfactuals: Callable[[Example], Sequence[Example]] | None = None

    def __post_init__(self) -> None:
        weights = locked(np.array(self.weights, dtype=np.float64))
        if weights.shape != (len(self.examples),):
            raise ValueError(f"{len(self.examples)} examples, and weights of {weights.shape}")
        valid = np.isfinite(weights).all() and (weights >= 0).all()
        if not valid or (weights.size and not weights.any()):
            raise ValueError("weights must be finite and not negative, and not all 0")
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "examples", tuple(self.examples))

    @classmethod
    def of(cls, data: PreparedData, validation_share: float, seed: int) -> TrainingSet:
        """Take a dataset's training split, each example once and with weight 1.

        Args:
            data: the prepared dataset.
            validation_share: share of the split that is held out, in whole matched sets. Where the
                data mark examples with :data:`VALIDATES`, these are held out whatever the share is,
                and validate if it is above 0.
            seed: the run's seed.
        """
        train = data.split("train")
        held_out = [example for example in train if VALIDATES in example.attributes]
        if not held_out and validation_share:
            held_out = sample(train, round(validation_share * len(train)))
        held_out_ids = {example.example_id for example in held_out}
        examples = [example for example in train if example.example_id not in held_out_ids]
        weights = np.ones(len(examples))
        validating = held_out if validation_share else []
        return cls(data.dataset, data.groups, data.labels, examples, weights, validating, seed)

    def generator(self, *key: str | int) -> np.random.Generator:
        """Return the random generator of a key, such as an example's id."""
        return generator(self.seed, "debias", *self.draws, *key)

    def take(self, positions: Sequence[int]) -> TrainingSet:
        """Return the examples at these positions, in their order, with their weights."""
        examples = [self.examples[position] for position in positions]
        weights = self.weights[np.asarray(positions, dtype=np.int64)]
        return replace(self, examples=examples, weights=weights)

    def rows(self) -> list[Mapping[str, object]]:
        """Return the rows of the training_set artefact, with the words of added examples."""
        pairs = zip(self.examples, self.weights.tolist(), strict=True)
        return [
            {
                "position": position,
                "example_id": example.example_id,
                "group": example.group,
                "label": example.label,
                "weight": weight,
                "made_by": example.attributes.get(MADE_BY),
                "words": list(example.words) if MADE_BY in example.attributes else None,
            }
            for position, (example, weight) in enumerate(pairs)
        ]
