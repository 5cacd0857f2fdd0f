"""Values of groups over trainings, divided into what a test compares: texts, or matched sets."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from exparity.stats.samples import complete_sets, set_means
from exparity.stats.strata import common_quantiles, standardised
from exparity.types import BoolArray, FloatArray, IntArray


class Parts(NamedTuple):
    """Values of k groups over s trainings, alone or in rows that are undefined in the same cells.

    Attributes:
        values: (..., s, n) of each group, NaN where undefined.
        are_sets: whether the columns of all groups are the same matched sets, whose cells are
            defined in all groups or in none.
    """

    values: list[FloatArray]
    are_sets: bool

    @property
    def known(self) -> Parts:
        """Without trainings that have no value of some group, and texts without any."""
        undefined = [np.isnan(part[(0,) * (part.ndim - 2)]) for part in self.values]
        seeds = ~np.any([missing.all(axis=1) for missing in undefined], axis=0)
        kept = [
            _chosen(part, seeds, ~missing[seeds].all(axis=0))
            for part, missing in zip(self.values, undefined, strict=True)
        ]
        return Parts(kept, self.are_sets)


def _chosen(part: FloatArray, seeds: BoolArray, texts: BoolArray) -> FloatArray:
    """Return (..., s, n) values of some trainings and texts.

    The values of a text lie side by side in memory, whatever rows there are: sums keep their bits.
    """
    by_text = part[..., seeds, :][..., texts].swapaxes(-1, -2)
    return np.ascontiguousarray(by_text).swapaxes(-1, -2)


def divided(values: FloatArray, codes: IntArray, sets: IntArray | None, n_groups: int = 2) -> Parts:
    """Divide (..., s, n) values by group, within matched sets if any of these has all groups.

    The mean counts where a group has several values in a set.

    Args:
        values: (..., s, n) values, NaN where undefined.
        codes: (n,) number of each column's group.
        sets: (n,) number of its matched set; None without any.
        n_groups: how many groups there are.
    """
    if sets is not None:
        is_whole = complete_sets(set_means(np.zeros(len(codes)), codes, sets, n_groups))
        if is_whole.any():
            undefined = np.isnan(values)
            counted = np.where(undefined, n_groups, codes)
            means = set_means(np.where(undefined, 0.0, values), counted, sets, n_groups + 1)
            means = means[..., is_whole, :n_groups]
            means[~complete_sets(means)] = np.nan
            return Parts([means[..., group] for group in range(n_groups)], are_sets=True)
    return Parts([values[..., codes == group] for group in range(n_groups)], are_sets=False)


def like_with_like(parts: Parts, covariates: Parts) -> tuple[Parts, float]:
    """Standardise values over quantiles of a covariate; see :mod:`~exparity.stats.strata`.

    Returns also the smallest share of a group's values, over the trainings, that is left.
    """
    n_groups = len(parts.values)
    sizes = [part.shape[-1] for part in parts.values]
    ends = np.cumsum(sizes)[:-1]
    codes = np.repeat(np.arange(n_groups), sizes)
    values = np.concatenate(parts.values, axis=-1)
    rows = values.reshape(math.prod(values.shape[:-1]), len(codes))
    covariate = np.hstack([part[0] for part in covariates.values])
    strata = common_quantiles(np.where(np.isnan(rows).all(axis=0), np.nan, covariate), codes)
    alike = np.full_like(rows, np.nan)
    shares = []
    for row, x in zip(alike, rows, strict=True):
        n_values = [int(np.isfinite(part).sum()) for part in np.split(x, ends)]
        if not all(n_values):
            continue
        row[:] = standardised(x, codes, strata).values
        while parts.are_sets:
            undefined = np.isnan(row).reshape(n_groups, -1)
            is_partial = undefined.any(axis=0) & ~undefined.all(axis=0)
            if not is_partial.any():
                break
            row[np.tile(is_partial, n_groups)] = np.nan  # a set counts with all of its members
            row[:] = standardised(np.where(np.isnan(row), np.nan, x), codes, strata).values
        left = [np.isfinite(part).sum() for part in np.split(row, ends)]
        shares += [n / n_all for n, n_all in zip(left, n_values, strict=True)]
    by_group = np.split(alike.reshape(values.shape), ends, axis=-1)
    return Parts(by_group, parts.are_sets), min(shares, default=1.0)
