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

    sequences, owners = list(batch.token_ids), list(range(len(batch)))
    for index, mask in enumerate(batch.content_masks):
        for place in np.flatnonzero(mask):
            sequences.append(batch.left(index, np.arange(len(mask)) != place))
            owners.append(index)
    probabilities = batch.target_probabilities(sequences, owners)
    left = np.array(owners[len(batch) :], dtype=np.int64)
    falls = probabilities[left] - probabilities[len(batch) :]
    values = np.full(len(batch), np.nan)
    for index, (scores, mask) in enumerate(zip(batch.scores, batch.content_masks, strict=True)):
        if mask.sum() >= 2 and np.isfinite(scores).all():
            values[index] = kendalltau(scores[mask], falls[left == index]).statistic
    return values
