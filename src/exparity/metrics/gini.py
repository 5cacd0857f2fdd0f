"""Gini index of attributions (Hurley and Rickard 2009)."""

from __future__ import annotations

import numpy as np

from exparity.core.flags import NotNegative
from exparity.metrics import metric
from exparity.metrics._arrays import row_sums
from exparity.types import BoolArray, FloatArray


@metric(
    "gini",
    direction="higher",
    bounds=(0.0, 1.0),
    unit="index",
    kind="complexity",
    needs="attributions",
    stochastic=False,
    reference="Hurley and Rickard 2009, doi:10.1109/TIT.2009.2027527, table I",
    display="Gini index",
    per="token",
)
def gini(scores: FloatArray, content_mask: BoolArray, *, epsilon: NotNegative = 0.0) -> FloatArray:
    r"""Inequality of the attribution mass over the content tokens.

    :math:`1 - 2 \sum_{i=1}^n \frac{|s|_{(i)}}{\lVert s \rVert_1} \cdot \frac{n - i + 1/2}{n}`
    with :math:`|s|_{(1)} \le \dots \le |s|_{(n)}`; 0 for equal scores, 1 − 1/n for a single one.

    Args:
        scores: (n, t) attributions.
        content_mask: (n, t) True for tokens that count.
        epsilon: added to every |s|, not negative. Above 0, scores that are all zero count as equal.

    Returns:
        (n,) in [0, 1), higher is better; NaN where all scores are zero and ``epsilon`` is 0.
    """
    magnitude = np.where(content_mask, np.abs(scores) + epsilon, np.inf)
    ordered = np.sort(magnitude, axis=1)  # content first, ascending, then the rest
    size = content_mask.sum(1, keepdims=True)
    rank = np.arange(1, scores.shape[1] + 1)[None, :]
    ordered = np.where(rank <= size, ordered, 0.0)
    weights = (size - rank + 0.5) / size  # (n, t)
    total = row_sums(ordered)
    result = np.full(len(scores), np.nan)
    np.divide(row_sums(ordered * weights), total, out=result, where=total > 0)
    # Rounding leaves equal scores a hair below 0.
    return np.asarray(np.maximum(1 - 2 * result, 0.0), dtype=np.float64)
