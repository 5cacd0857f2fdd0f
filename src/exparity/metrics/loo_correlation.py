"""Correlation with leave-one-out (Jain and Wallace 2019), ferret's τ-LOO."""

from __future__ import annotations

import numpy as np

from exparity.metrics import MetricBatch, metric
from exparity.types import FloatArray


@metric(
    "loo_correlation",
    direction="higher",
    bounds=(-1.0, 1.0),
    unit="correlation",
    kind="faithfulness",
    needs="probabilities",
    stochastic=False,
    reference="Jain and Wallace 2019, arXiv:1902.10186, section 3.1; Attanasio et al. 2023",
    display="Correlation with leave-one-out",
    passes=20,
    per="token",
)
def loo_correlation(batch: MetricBatch) -> FloatArray:
    r"""Rank correlation of the attributions with the fall in probability as each token is removed.

    Kendall's :math:`\tau_b` between the attributions of the :math:`n` content tokens and
    :math:`f_y(x) - f_y(x \setminus x_i)`, ties counted (Kendall 1945).

    Returns:
        (n,) in [−1, 1], higher is better; NaN where an attribution is not finite, there are fewer
        than two content tokens, or all attributions or all falls are equal.
    """
    from scipy.stats import kendalltau

    single_units = [list(np.eye(len(mask), dtype=bool)[mask]) for mask in batch.content_masks]
    values = np.full(len(batch), np.nan)
    for index, falls in enumerate(batch.falls_of_sets(single_units, keep=False)):
        scores = batch.scores[index][batch.content_masks[index]]
        if len(scores) >= 2 and np.isfinite(batch.scores[index]).all():
            values[index] = kendalltau(scores, falls.probability).statistic
    return values
