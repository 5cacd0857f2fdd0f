"""Saliency (Simonyan et al. 2013) and gradient × input (Shrikumar et al. 2016)."""

from __future__ import annotations

from exparity.methods import MethodBatch
from exparity.methods._gradients import gradient_method, input_attributions
from exparity.types import FloatArray


@gradient_method(
    "gradient",
    signed=False,
    reference="Simonyan et al. 2013, arXiv:1312.6034",
    display="Gradient",
)
def gradient(batch: MethodBatch) -> list[FloatArray]:
    r"""L1 norm of the target logit's gradient with respect to each token's embedding.

    :math:`s_i = \sum_h |\partial f_y / \partial e_{ih}|`.

    Returns:
        (t,) scores for each text, not negative, in logits per unit of embedding.
    """
    return input_attributions(batch, "l1")


@gradient_method(
    "gradient_x_input",
    reference="Shrikumar et al. 2016, arXiv:1605.01713",
    display="Gradient × input",
)
def gradient_x_input(batch: MethodBatch) -> list[FloatArray]:
    r"""Inner product of each token's embedding with the target logit's gradient there.

    :math:`s_i = \sum_h e_{ih}\, \partial f_y / \partial e_{ih}`.

    Returns:
        (t,) signed scores for each text, in logits.
    """
    return input_attributions(batch, "times_input")
