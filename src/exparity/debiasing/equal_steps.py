"""As many optimiser steps as without debiasing."""

from __future__ import annotations

from dataclasses import replace

from exparity.data.training_set import TrainingSet
from exparity.debiasing import intervention


@intervention("equal_steps", reference="docs/debiasing.md", needs_counterfactuals=False)
def equal_steps(training_set: TrainingSet) -> TrainingSet:
    """Set the examples per epoch to those before the interventions that follow.

    Args:
        training_set: what later interventions make larger or smaller.
    """
    return replace(training_set, per_epoch=len(training_set.examples))
