"""LIME (Ribeiro et al. 2016) on tokens."""

from __future__ import annotations

import numpy as np

from exparity.core.seeding import generator
from exparity.interface import FloatArray, NotNegative, Positive
from exparity.methods import MethodBatch, method
from exparity.methods._lime import Samples, Sampling, draw_masks, fit, smooth

_TOGETHER = 64  # texts whose masks share batches; more would only hold more memory


@method(
    "lime",
    signed=True,
    needs_gradient=False,
    target="probability",
    baseline="mask token",
    stochastic=True,
    reference="Ribeiro et al. 2016, arXiv:1602.04938, section 3.4",
    display="LIME",
    passes=500,
)
def lime(
    batch: MethodBatch,
    *,
    num_samples: Samples | None = None,
    max_samples: Samples = 5000,
    kernel_width: Positive = 25.0,
    ridge: NotNegative = 1.0,
    sampling: Sampling = "independent",
    surrogate: bool = False,
) -> list[FloatArray]:
    r"""Coefficients of a linear model fitted to the text's neighbourhood.

    :math:`\arg\min_{w,b} \sum_z \pi(z) (p_y(x \odot z) - w^\top z - b)^2 +
    \lambda \lVert w \rVert^2` over masks :math:`z`, where masked tokens are replaced by the mask
    token and :math:`\pi` falls with the cosine distance of :math:`z` from 1. Special tokens are
    masked like others and score 0.

    Args:
        batch: the texts.
        num_samples: masks per text, the text itself included; t² but at most ``max_samples`` for
            a text of t tokens if None.
        max_samples: bound of that default.
        kernel_width: of the kernel over 100 × cosine distance.
        ridge: penalty λ on the squared coefficients; with few samples, one of 1 shrinks them.
        sampling: ``independent`` masks as LIME's, or with less variance at equal cost
            ``paired`` with their complements, or ``stratified`` by the number of masked tokens.
        surrogate: fit to many answers of a surrogate that was fitted to the samples: less error
            with t² samples or fewer, a bias with very many.

    Returns:
        (t,) signed scores for each text, in probability.
    """
    from exparity.engine.masking import MaskedTexts

    scores: list[FloatArray] = []
    for first in range(0, len(batch), _TOGETHER):
        texts = range(first, min(first + _TOGETHER, len(batch)))
        masks = [
            draw_masks(
                batch.lengths[row],
                num_samples or max(2, min(batch.lengths[row] ** 2, max_samples)),
                batch.generator(row),
                sampling,
            )
            for row in texts
        ]
        masked = MaskedTexts(batch.classifier, [batch.rows[row] for row in texts])
        values = masked.target_probabilities(masks, batch.targets[texts])
        for row, drawn, own in zip(texts, masks, values, strict=True):
            if surrogate:
                rng = generator(batch.seed, "explain", batch.method, batch.keys[row], "surrogate")
                drawn, own = smooth(drawn, own, rng)
            coefficients = fit(drawn, own, kernel_width, ridge)
            scores.append(np.where(batch.special_masks[row], 0.0, coefficients))
    return scores
