"""Correlation with leave-one-out (Jain and Wallace 2019), ferret's τ-LOO."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exparity.metrics import metric
from exparity.metrics.foresight import Foresight
from exparity.types import FloatArray


@metric(
    "loo_correlation",
    direction="higher",
    bounds=(-1.0, 1.0),
    unit="correlation",
    kind="faithfulness",
    needs="foresight",
    stochastic=False,
    reference="Jain and Wallace 2019, arXiv:1902.10186, section 3.1; Attanasio et al. 2023",
    display="Correlation with leave-one-out",
    passes=20,
    per="token",
)
def loo_correlation(scores: Sequence[FloatArray], foresights: Sequence[Foresight]) -> FloatArray:
    r"""Rank correlation of the attributions with the fall in probability as each token is removed.

    Kendall's :math:`\tau_b` between the attributions of the :math:`n` content tokens and
    :math:`f_y(x) - f_y(x \setminus x_i)`, ties counted (Kendall 1945).

    Args:
        scores: (n,) arrays of the raw attributions of each text's content units.
        foresights: falls of each text as its units go one by one.

    Returns:
        (n,) in [−1, 1], higher is better; NaN where an attribution is not finite, there are fewer
        than two content tokens, or all attributions or all falls are equal.
    """
    from scipy.stats import kendalltau

    values = np.full(len(scores), np.nan)
    for index, (attributions, foresight) in enumerate(zip(scores, foresights, strict=True)):
        if len(attributions) >= 2 and np.isfinite(attributions).all():
            values[index] = kendalltau(attributions, foresight.falls).statistic
    return values
