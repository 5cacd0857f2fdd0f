"""Attention-aware layer-wise relevance propagation (Achtibat et al. 2024)."""

from __future__ import annotations

from typing import Literal

from exparity.methods import MethodBatch
from exparity.methods._gradients import gradient_method, pooled
from exparity.types import FloatArray


@gradient_method(
    "attnlrp",
    reference="Achtibat et al. 2024, arXiv:2402.05602; cp: Ali et al. 2022, arXiv:2202.07304",
    display="AttnLRP",
    terms="layer-wise relevance propagation is patented; its holders leave personal and scientific "
    "use free, and exparity's licence grants no patent rights: ask them before commercial use",
)
def attnlrp(
    batch: MethodBatch, *, variant: Literal["attnlrp", "cp"] = "attnlrp"
) -> list[FloatArray]:
    r"""Relevance of each token, as gradient × input with other rules on the way back.

    :math:`s_i = \sum_h e_{ih}\, \tilde\partial f_y / \tilde\partial e_{ih}`, where the modified
    derivative :math:`\tilde\partial` takes an activation's mean slope from zero, takes what
    normalises for constant, and gives each factor of a product half.

    Args:
        batch: the texts.
        variant: what attention does: ``attnlrp`` passes relevance through queries, keys and the
            softmax; ``cp`` takes attention weights for constant, so that the scores of a model
            without biases sum to what is explained.

    Returns:
        (t,) signed scores for each text, in logits.
    """
    from exparity.methods._relevance import Propagation, check_attention

    check_attention(batch.classifier.model)
    with Propagation(batch.classifier.model, variant):
        gradients = batch.gradients()
    return [
        pooled(gradient, rows, "times_input")
        for gradient, rows in zip(gradients, batch.word_rows, strict=True)
    ]
