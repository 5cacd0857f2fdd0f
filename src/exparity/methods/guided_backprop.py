"""Guided backpropagation (Springenberg et al. 2015)."""

from __future__ import annotations

from typing import Literal

from exparity.methods import MethodBatch
from exparity.methods._gradients import gradient_method, pooled
from exparity.types import FloatArray


@gradient_method(
    "guided_backprop",
    signed=False,
    reference="Springenberg et al. 2015, arXiv:1412.6806",
    display="Guided backpropagation",
)
def guided_backprop(
    batch: MethodBatch, *, guided: Literal["rectifiers", "relu"] = "rectifiers"
) -> list[FloatArray]:
    r"""L1 norm of a gradient that passes rectifiers only where it is positive.

    On its way back through a rectifier :math:`a` with input :math:`z`, a gradient :math:`g` becomes
    :math:`a'(z)\, \max(g, 0)` where :math:`z > 0`, and zero elsewhere. GELU and its like count as
    rectifiers; tanh and sigmoid do not.

    Args:
        batch: the texts.
        guided: ``rectifiers``, smooth ones included, or ``relu`` alone, as in captum: then this is
            ``gradient`` for models without ReLU, such as BERT, RoBERTa and GPT-2.

    Returns:
        (t,) scores for each text, not negative, in logits per unit of embedding.
    """
    from exparity.methods._backward import Activations, Kind, passing_positive

    kinds: tuple[Kind, ...] = ("relu", "smooth") if guided == "rectifiers" else ("relu",)
    with Activations(batch.classifier.model, passing_positive(kinds)):
        gradients = batch.gradients()
    return [pooled(g, rows, "l1") for g, rows in zip(gradients, batch.rows, strict=True)]
