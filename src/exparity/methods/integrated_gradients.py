"""Integrated gradients (Sundararajan et al. 2017), with and without the factor (x − x′)."""

from __future__ import annotations

from functools import partial

from exparity.interface import Count, FloatArray
from exparity.methods import MethodBatch, method
from exparity.methods._gradients import path_attributions

_path_method = partial(
    method,
    signed=True,
    needs_gradient=True,
    target="logit",
    baseline="special tokens kept, padding elsewhere",
    stochastic=False,
    passes=50,
)


@_path_method(
    "integrated_gradients",
    reference="Sundararajan et al. 2017, arXiv:1703.01365, eq. 1 without the factor (x − x′)",
    display="Integrated gradients",
)
def integrated_gradients(batch: MethodBatch, *, n_steps: Count = 50) -> list[FloatArray]:
    r"""Mean gradient of the target logit on the line from the baseline to the input.

    :math:`s_i = \sum_h \int_0^1 \partial f_y(x' + \alpha (x - x')) / \partial e_{ih}\, d\alpha`.

    The factor (x − x′) is left out, as the reference implementation of the reproduced study does.
    Then the sum over the embedding dimension is zero for every model that normalises its
    embeddings (BERT, RoBERTa, GPT-2), and what is left is rounding error: such scores are flagged
    ``rounding_noise``. Use ``integrated_gradients_x_input`` for explanations that mean something.

    Args:
        batch: the texts.
        n_steps: nodes of the Gauss–Legendre rule.

    Returns:
        (t,) signed scores for each text, in logits per unit of embedding.
    """
    return path_attributions(batch, "sum", n_steps)


@_path_method(
    "integrated_gradients_x_input",
    reference="Sundararajan et al. 2017, arXiv:1703.01365, eq. 1",
    display="Integrated gradients × input",
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
