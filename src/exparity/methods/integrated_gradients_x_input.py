"""Integrated gradients (Sundararajan et al. 2017), the form that satisfies completeness."""

from __future__ import annotations

from exparity.interface import Count, FloatArray
from exparity.methods import MethodBatch, method
from exparity.methods._gradients import path_attributions


@method(
    "integrated_gradients_x_input",
    signed=True,
    needs_gradient=True,
    target="logit",
    baseline="special tokens kept, padding elsewhere",
    stochastic=False,
    reference="Sundararajan et al. 2017, arXiv:1703.01365, eq. 1",
    display="Integrated gradients × input",
    passes=50,
)
def integrated_gradients_x_input(batch: MethodBatch, *, n_steps: Count = 50) -> list[FloatArray]:
    r"""Integrated gradients; a text's scores sum to f(input) − f(baseline).

    :math:`s_i = \sum_h (x_{ih} - x'_{ih}) \int_0^1 \partial f_y / \partial e_{ih}\, d\alpha`.

    Args:
        batch: the texts.
        n_steps: nodes of the Gauss–Legendre rule.

    Returns:
        (t,) signed scores for each text, in logits.
    """
    return path_attributions(batch, "times_input", n_steps)
