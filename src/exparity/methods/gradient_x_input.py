"""Gradient × input (Shrikumar et al. 2016)."""

from __future__ import annotations

from exparity.interface import FloatArray
from exparity.methods import MethodBatch, method
from exparity.methods._gradients import input_attributions


@method(
    "gradient_x_input",
    signed=True,
    needs_gradient=True,
    target="logit",
    baseline=None,
    stochastic=False,
    reference="Shrikumar et al. 2016, arXiv:1605.01713",
    display="Gradient × input",
    pooling="times_input",
)
def gradient_x_input(batch: MethodBatch) -> list[FloatArray]:
    r"""Inner product of each token's embedding with the target logit's gradient there.

    :math:`s_i = \sum_h e_{ih}\, \partial f_y / \partial e_{ih}`.

    Args:
        batch: the texts.

    Returns:
        (t,) signed scores for each text, in logits.
    """
    return input_attributions(batch, "times_input")
