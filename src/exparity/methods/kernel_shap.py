"""Kernel SHAP (Lundberg and Lee 2017) on tokens."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from exparity.interface import FloatArray, Range
from exparity.methods import MethodBatch, method
from exparity.methods._kernel import draw_coalitions, shapley_values
from exparity.methods._masked import masked_probabilities


@method(
    "kernel_shap",
    signed=True,
    needs_gradient=False,
    target="probability",
    baseline="special tokens kept, padding elsewhere",
    stochastic=True,
    reference="Lundberg and Lee 2017, arXiv:1705.07874, theorem 2",
    display="Kernel SHAP",
    passes=25,
)
def kernel_shap(
    batch: MethodBatch, *, n_samples: Annotated[int, Range(at_least=4, at_most=1_000_000)] = 25
) -> list[FloatArray]:
    r"""Shapley values of the content tokens, by a regression on coalitions of them.

    :math:`\arg\min_\phi \sum_z \pi(z) (p_y(z) - p_y(0) - z^\top \phi)^2` with
    :math:`\sum_i \phi_i = p_y(1) - p_y(0)`; tokens that are absent from a coalition :math:`z` are
    replaced by those of the baseline of integrated gradients.

    Args:
        batch: the texts.
        n_samples: masks per text, those of all and of no tokens included. Values are exact from
            2ᵗ on for t content tokens.

    Returns:
        (t,) signed scores for each text, in probability, which sum to p(input) − p(baseline);
        special tokens score 0.
    """
    plans, masks = [], []
    for row, special in enumerate(batch.special_masks):
        n_content = int((~special).sum())
        coalitions, weights = draw_coalitions(n_content, n_samples - 2, batch.generator(row))
        mask = np.ones((len(coalitions) + 2, len(special)), dtype=bool)
        mask[0, ~special] = False
        mask[2:, ~special] = coalitions
        plans.append((coalitions, weights))
        masks.append(mask)
    scores = []
    for special, (coalitions, weights), values in zip(
        batch.special_masks, plans, masked_probabilities(batch, masks, "baseline"), strict=True
    ):
        own = np.zeros(len(special))
        own[~special] = shapley_values(coalitions, weights, values[2:], values[0], values[1])
        scores.append(own)
    return scores
