"""Uniform random scores: a null model of explanations."""

from __future__ import annotations

from exparity.methods import MethodBatch, method
from exparity.types import FloatArray


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
    return [
        units.shared(batch.generator(row).random(len(units.unit_of_token))[units.first])
        for row, units in enumerate(batch.units)
    ]
