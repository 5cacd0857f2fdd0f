"""Integrated gradients (Sundararajan et al. 2017), with and without the factor (x − x′)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Literal

from exparity.core.flags import Count
from exparity.methods import MethodBatch
from exparity.methods._gradients import path_attributions, path_method
from exparity.types import FloatArray

MEAN_CENTRED = (
    *("albert", "bert", "bloom", "camembert", "convbert", "deberta", "deberta-v2", "distilbert"),
    *("electra", "ernie", "falcon", "gpt2", "gpt_neo", "gpt_neox", "gptj", "modernbert", "mpnet"),
    *("opt", "phi", "roberta", "roformer", "xlm-roberta"),
)
"""Model types whose embeddings pass a LayerNorm, which subtracts their mean, before every use."""


def _caution(options: Mapping[str, object], model_type: str) -> str | None:
    if options.get("pooling") == "sum" and model_type in MEAN_CENTRED:
        return "pooling: sum is rounding noise for these models; take pooling: l2"
    return None


_path_method = partial(path_method, passes=50, caution=_caution)


@_path_method(
    "integrated_gradients",
    reference="Sundararajan et al. 2017, arXiv:1703.01365, eq. 1 without the factor (x − x′)",
    display="Integrated gradients",
)
def integrated_gradients(
    batch: MethodBatch, *, n_steps: Count = 50, pooling: Literal["l2", "sum"] = "l2"
) -> list[FloatArray]:
    r"""Size of the target logit's mean gradient on the line from the baseline to the input.

    :math:`s_i = \lVert g_i \rVert_2` with :math:`g_{ih} = \int_0^1 \partial
    f_y(x' + \alpha (x - x')) / \partial e_{ih}\, d\alpha`; the factor (x − x′) is left out.

    The ``sum`` is what the reference implementation of the reproduced study takes. It is zero for
    every model that subtracts the mean of its embeddings (BERT, RoBERTa, GPT-2), and what is left
    is rounding error: such scores are flagged ``rounding_noise``.

    Args:
        batch: the texts.
        n_steps: nodes of the Gauss–Legendre rule; each costs a forward and a backward pass.
        pooling: ``l2`` norm of the mean gradient over the embedding dimension, or its ``sum``, as
            the published study has it from ferret.

    Returns:
        (t,) scores for each text, in logits per unit of embedding: not negative (``l2``) or signed.
    """
    return path_attributions(batch, pooling, n_steps)


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
        n_steps: nodes of the Gauss–Legendre rule; each costs a forward and a backward pass.

    Returns:
        (t,) signed scores for each text, in logits.
    """
    return path_attributions(batch, "times_input", n_steps)
