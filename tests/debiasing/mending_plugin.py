"""A user's own training-time interventions: copies with another group, and a weighted sample."""

from dataclasses import replace

import numpy as np

from exparity.core.flags import Positive, Share
from exparity.data.training_set import TrainingSet
from exparity.debiasing import intervention


@intervention("mirrored", reference="a test", needs_counterfactuals=True)
def mirrored(training_set: TrainingSet, *, weight: Positive = 1.0) -> TrainingSet:
    """Add every counterfactual that there is."""
    assert training_set.counterfactuals is not None
    added = [c for e in training_set.examples for c in training_set.counterfactuals(e)]
    return replace(
        training_set,
        examples=[*training_set.examples, *added],
        weights=np.append(training_set.weights, np.full(len(added), weight)),
    )


@intervention("sampled", reference="a test", needs_counterfactuals=False)
def sampled(
    training_set: TrainingSet, *, share: Share = 0.5, same_steps: bool = False
) -> TrainingSet:
    """Keep a share of the examples, drawn one by one."""
    kept = [
        position
        for position, example in enumerate(training_set.examples)
        if training_set.generator(example.example_id, example.group).random() < share
    ]
    steps = len(training_set.examples) if same_steps else None
    return replace(training_set.take(kept), per_epoch=steps)
