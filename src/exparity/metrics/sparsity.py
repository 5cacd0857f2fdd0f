"""Sparsity of attributions (Dai et al. 2022)."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from exparity.core.flags import Range
from exparity.metrics import metric
from exparity.types import BoolArray, FloatArray


@metric(
    "sparsity",
    direction="lower",
    bounds=(0.0, 1.0),
    unit="share",
    kind="complexity",
    needs="attributions",
    stochastic=False,
    reference="Dai et al. 2022, doi:10.1145/3514094.3534159, section 3",
    display="Sparsity",
    # Over the sequence it would measure how much [CLS] and [SEP] hold.
    normalise_over="content",
    per="token",
)
def sparsity(
    scores: FloatArray,
    content_mask: BoolArray,
    *,
    tau: Annotated[float, Range(at_least=0, at_most=1)] = 0.1,
) -> FloatArray:
    r"""Share of content tokens with a normalised attribution of at least τ.

    :math:`\frac1n \sum_i [\,|s_i| \ge \tau\,]`; with all scores zero it is 0.

    Args:
        scores: (n, t) L1-normalised attributions.
        content_mask: (n, t) True for tokens that count.
        tau: threshold on the normalised attribution, in [0, 1].

    Returns:
        (n,) in [0, 1], lower is better; NaN where a score is not finite.
    """
    above = (np.abs(scores) >= tau) & content_mask
    undefined = (np.isnan(scores) & content_mask).any(1)
    return np.where(undefined, np.nan, above.sum(1) / content_mask.sum(1))
