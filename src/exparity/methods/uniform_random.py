"""Uniform random scores: a null model of explanations."""

from __future__ import annotations

import numpy as np

from exparity.explanations.units import Units
from exparity.methods import MethodBatch, method
from exparity.types import FloatArray


def random_scores(units: Units, rng: np.random.Generator) -> FloatArray:
    """Return (t,) scores of a text's tokens: a number for each unit, shared evenly."""
    return units.shared(rng.random(len(units.unit_of_token))[units.first])


@method(
    "uniform_random",
    signed=False,
    needs_gradient=False,
    target="none",
    baseline=None,
    stochastic=True,
    reference="Wilming et al. 2024, arXiv:2406.11547, section 2.2",
    display="Uniform random",
    per="word",
)
def uniform_random(batch: MethodBatch) -> list[FloatArray]:
    """Scores drawn uniformly from 0 to 1, whatever the model and the target.

    One number is drawn per unit, which its tokens share evenly: per word, so that every word has
    the same share on average, unless ``unit`` says otherwise.

    Returns:
        (t,) scores for each text, in [0, 1).
    """
    return [random_scores(units, batch.generator(row)) for row, units in enumerate(batch.units)]
