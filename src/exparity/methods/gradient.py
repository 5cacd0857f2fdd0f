"""Saliency (Simonyan et al. 2013)."""

from __future__ import annotations

from exparity.interface import FloatArray
from exparity.methods import MethodBatch, method
from exparity.methods._gradients import input_attributions


@method(
    "gradient",
    signed=False,
    needs_gradient=True,
    target="logit",
    baseline=None,
    stochastic=False,
    reference="Simonyan et al. 2013, arXiv:1312.6034",
    display="Gradient",
    pooling="l1",
)
def gradient(batch: MethodBatch) -> list[FloatArray]:
    r"""L1 norm of the target logit's gradient with respect to each token's embedding.

    :math:`s_i = \sum_h |\partial f_y / \partial e_{ih}|`.

    Args:
        batch: the texts.

    Returns:
        (t,) scores for each text, not negative, in logits per unit of embedding.
    """
    return input_attributions(batch, "l1")
