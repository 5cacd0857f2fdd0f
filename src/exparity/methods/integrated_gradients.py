"""Integrated gradients (Sundararajan et al. 2017), not multiplied by the input difference."""

from __future__ import annotations

from exparity.interface import FloatArray
from exparity.methods import MethodBatch, method
from exparity.methods._gradients import path_attributions


@method(
    "integrated_gradients",
    signed=True,
    needs_gradient=True,
    target="logit",
    baseline="special tokens kept, padding elsewhere",
    stochastic=False,
    reference="Sundararajan et al. 2017, arXiv:1703.01365, eq. 1 without the factor (x − x′)",
    display="Integrated gradients",
)
def integrated_gradients(batch: MethodBatch, *, n_steps: int = 50) -> list[FloatArray]:
    r"""Mean gradient of the target logit on the line from the baseline to the input.

    :math:`s_i = \sum_h \int_0^1 \partial f_y(x' + \alpha (x - x')) / \partial e_{ih}\, d\alpha`.

    Args:
        batch: the texts.
        n_steps: nodes of the Gauss–Legendre rule.

    Returns:
        (t,) signed scores for each text, in logits per unit of embedding.

    Raises:
        InputError: ``n_steps`` is below 1.
    """
    return path_attributions(batch, "sum", n_steps)
