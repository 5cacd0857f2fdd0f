"""Agreement of attributions of one text: of every two of several."""

from __future__ import annotations

import numpy as np

from exparity.types import FloatArray

MEASURES = ("spearman", "top_overlap", "sign")
_FEWEST = 3
"""Tokens below which two attributions have no correlation to speak of."""


def agreements(scores: FloatArray, top_share: float) -> dict[str, FloatArray]:
    """Return how far every two attributions of one text agree, by measure.

    ``spearman`` is the rank correlation of sizes, ties sharing their mean rank. ``top_overlap`` is
    the share that two attributions have in common of their k = max(1, round(top_share · t)) largest
    sizes, the first of equal ones. ``sign`` is the share of these common ones whose sign is the
    same (Krishna et al. 2022, arXiv:2202.01602, where k is a number of features).

    Args:
        scores: (v, t) attributions, a row each.
        top_share: share of the tokens that counts as the top.

    Returns:
        (v, v) values by measure: in [−1, 1], [0, 1] and [0, 1]. NaN with fewer than three tokens,
        where an attribution has the same size everywhere or is undefined, and of signs where two
        have no token in common.
    """
    from scipy.stats import rankdata

    v, t = scores.shape
    if t < _FEWEST:
        return {measure: np.full((v, v), np.nan) for measure in MEASURES}
    sizes = np.abs(scores)
    is_defined = np.ptp(sizes, axis=1) > 0  # False where one is NaN, too
    k = max(1, round(top_share * t))
    top = np.zeros((v, t))
    np.put_along_axis(top, np.argsort(-sizes, axis=1, kind="stable")[:, :k], 1.0, axis=1)
    above, below = top * (scores > 0), top * (scores < 0)
    common = top @ top.T
    with np.errstate(divide="ignore", invalid="ignore"):
        found = {
            "spearman": np.corrcoef(rankdata(sizes, axis=1)).reshape(v, v),
            "top_overlap": common / k,
            "sign": (above @ above.T + below @ below.T) / common,
        }
    for values in found.values():
        values[~is_defined, :] = values[:, ~is_defined] = np.nan
    return found
