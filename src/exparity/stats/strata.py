r"""Like with like: groups compared within strata of something else in which they differ.

Where a score depends on that too, groups that differ in it have a gap without one of their own.
Standardisation (Kitagawa 1955, doi:10.1080/01621459.1955.10501299) compares means within strata,
weighted alike in both groups.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exparity.types import FloatArray, IntArray

STRATA = 4
FEWEST = 5
"""Values of each group from which a stratum is compared."""
LEAST_SHARE = 0.25
"""Share of each group in common strata from which groups are compared."""
NO_STRATUM = -1


class Standardised(NamedTuple):
    """Values of groups whose means are of equal strata.

    Attributes:
        values: (n,) values whose mean in a group is the group's standardised mean; NaN where
            undefined, and outside of the strata that all groups have.
        shares: share of each group's values that is in these, in [0, 1].
    """

    values: FloatArray
    shares: tuple[float, ...]


def common_quantiles(covariate: FloatArray, codes: IntArray) -> IntArray:
    """Number texts by quantile of a covariate, over all groups where these overlap.

    There are :data:`STRATA` at most, and fewer where they would have less than twice :data:`FEWEST`
    texts of a group on average. Equal values are never divided.

    Args:
        covariate: (n,) what may differ between the groups, NaN where undefined.
        codes: (n,) number of each text's group, from 0.

    Returns:
        (n,) numbers from 0; :data:`NO_STRATUM` where undefined, or beyond the smallest or largest
        value of another group.
    """
    strata = np.full(len(covariate), NO_STRATUM)
    n_groups = _count(codes)
    parts = [covariate[(codes == group) & np.isfinite(covariate)] for group in range(n_groups)]
    if not all(part.size for part in parts):
        return strata
    low = max(part.min() for part in parts)
    high = min(part.max() for part in parts)
    shared = (covariate >= low) & (covariate <= high)
    if shared.any():
        smaller = int(np.bincount(codes[shared], minlength=n_groups).min())
        n_strata = min(STRATA, max(1, smaller // (2 * FEWEST)))
        levels = np.arange(1, n_strata) / n_strata
        edges = np.unique(np.quantile(covariate[shared], levels, method="inverted_cdf"))
        strata[shared] = np.searchsorted(edges, covariate[shared], "left")
    return strata


def standardised(
    values: FloatArray,
    codes: IntArray,
    strata: IntArray,
    weights: FloatArray | None = None,
    *,
    fewest: int = FEWEST,
) -> Standardised:
    r"""Return values whose mean in a group is its mean over strata that weigh alike in all.

    With :math:`p_{gs}` the share of a group's weights in stratum s and :math:`\pi_s` the mean of
    all groups' shares, the standardised mean is :math:`S_g = \sum_s \pi_s m_{gs}`, beside the
    plain one :math:`M_g = \sum_s p_{gs} m_{gs}`. The value of a text is

    .. math:: x + (S_g - M_g) + (\pi_s / p_{gs} - 1) (x - m_{gs}),

    so that its variance is that of :math:`S_g`, or larger by what strata explain. Where strata
    have the same shares in both groups, every value is as it was. If the values of a stratum are
    linearised ones of a ratio, :math:`m_{gs}` is the ratio of its texts.

    Args:
        values: (n,) values of the texts, NaN where undefined.
        codes: (n,) number of each text's group, from 0.
        strata: (n,) number of the stratum from 0; negative for texts that are left out.
        weights: (n,) positive weights of the texts in the mean of their group, all 1 if None.
        fewest: values of each group from which a stratum counts.
    """
    result = np.full(len(values), np.nan)
    defined = np.isfinite(values)
    counted = defined & (strata >= 0)
    n_strata = int(strata.max(initial=NO_STRATUM)) + 1
    weights = np.ones(len(values)) if weights is None else weights
    n_groups = _count(codes)
    cells = codes * n_strata + strata

    def sums(terms: FloatArray) -> FloatArray:
        """Return (groups, strata) sums of a term of each text by group and stratum."""
        flat = np.bincount(cells[counted], terms[counted], minlength=n_groups * n_strata)
        return np.asarray(flat, dtype=np.float64).reshape(n_groups, n_strata)

    is_common = np.asarray((sums(np.ones(len(values))) >= fewest).all(axis=0))
    if not is_common.any():
        return Standardised(result, (0.0,) * n_groups)
    mass = np.where(is_common, sums(weights), 0.0)
    total = np.bincount(codes[defined], weights[defined], minlength=n_groups)
    shares = mass / mass.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(is_common, sums(weights * values) / mass, 0.0)
        ratios = np.where(is_common, shares.mean(axis=0) / shares, 0.0)
    moves = ((shares.mean(axis=0) - shares) * means).sum(axis=1)
    counted &= is_common[strata]
    occupied = cells[counted]
    x = values[counted]
    within = (ratios.ravel()[occupied] - 1) * (x - means.ravel()[occupied])
    result[counted] = x + moves[codes[counted]] + within
    return Standardised(result, tuple((mass.sum(axis=1) / total).tolist()))


def _count(codes: IntArray) -> int:
    """Return how many groups there are, two at least."""
    return max(2, int(codes.max(initial=0)) + 1)
