"""Reweighting: group and class become independent of each other in the weighted training set."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from exparity.data.training_set import TrainingSet
from exparity.debiasing import intervention
from exparity.debiasing._cells import cells_of, warn_of_empty_cells


@intervention(
    "group_class_weights",
    reference="Kamiran and Calders 2012, doi:10.1007/s10115-011-0463-8",
    needs_counterfactuals=False,
)
def group_class_weights(training_set: TrainingSet) -> TrainingSet:
    """Weigh examples by n_y n_g / (n n_yg), the inverse of how their group depends on their class.

    Args:
        training_set: what to weigh; the weights that it has are multiplied.
    """
    examples = training_set.examples
    cells = cells_of(training_set, range(len(examples)))
    warn_of_empty_cells(
        training_set,
        cells,
        "debias group_class_weights: no training example of %s; group and class cannot become "
        "independent there",
    )
    class_sizes = Counter(example.label for example in examples)
    group_sizes = Counter(example.group for example in examples)
    factors = np.ones(len(examples))
    for (label, group), members in cells.items():
        expected = class_sizes[label] * group_sizes[group]
        factors[members] = expected / (len(examples) * len(members))
    return replace(training_set, weights=training_set.weights * factors)
