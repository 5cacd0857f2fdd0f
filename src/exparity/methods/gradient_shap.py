"""Gradient SHAP (Lundberg and Lee 2017), also known as expected gradients (Erion et al. 2021)."""

from __future__ import annotations

import numpy as np

from exparity.core.flags import Count
from exparity.methods import MethodBatch
from exparity.methods._gradients import baseline_rows, path_method, pooled
from exparity.types import FloatArray


@path_method(
    "gradient_shap",
    stochastic=True,
    reference="Erion et al. 2021, doi:10.1038/s42256-021-00343-w",
    display="Gradient SHAP",
    passes=50,
)
def gradient_shap(batch: MethodBatch, *, n_samples: Count = 50) -> list[FloatArray]:
    r"""Mean of gradient × change at random points between the baseline and the text.

    :math:`s_i = E_\alpha \sum_h (x_{ih} - x'_{ih})\,
    \partial f_y(x' + \alpha (x - x')) / \partial e_{ih}` with :math:`\alpha` uniform on [0, 1].

    Args:
        batch: the texts.
        n_samples: points per text.

    Returns:
        (t,) signed scores for each text, in logits. Their sum is f(input) − f(baseline) on average
        over draws.
    """
    starts = baseline_rows(batch)
    places = [batch.generator(row).random(n_samples) for row in range(len(batch))]
    sums = [np.zeros(length) for length in batch.lengths]
    for row, _, gradient in batch.gradients_between(starts, places):
        sums[row] += pooled(gradient, batch.rows[row] - starts[row], "times_input")
    return [total / n_samples for total in sums]
