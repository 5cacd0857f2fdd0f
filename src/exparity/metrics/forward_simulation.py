"""Forward simulation: how well an explanation foresees the classifier without half of a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np

from exparity.core.flags import Range, Share
from exparity.core.grouping import grouped
from exparity.metrics import metric
from exparity.metrics.foresight import ROUNDING, Foresight, correlations, predictions
from exparity.types import BoolArray, FloatArray

_CONSTANT = 1e-9
"""Range of predictions, as a share of their size, up to which they are equal but for rounding."""


@metric(
    "forward_simulation",
    direction="higher",
    bounds=(-1.0, 1.0),
    unit="correlation",
    kind="simulatability",
    needs="foresight",
    stochastic=False,
    reference="Yeh et al. 2019, arXiv:1901.09392 (infidelity); Bhatt et al. 2020, "
    "arXiv:2005.00631 (faithfulness correlation); Mayne et al. 2026, arXiv:2602.02639",
    display="Forward simulation",
    passes=65,
    skill="zero",
    per="word",
)
def forward_simulation(
    scores: Sequence[FloatArray],
    foresights: Sequence[Foresight],
    *,
    correlate: Literal["pearson", "spearman"] = "pearson",
    signs: Literal["kept", "ignored"] = "kept",
    left_out: Share = 0.5,
    num_masks: Annotated[int, Range(at_least=4, at_most=4096)] | None = None,
) -> FloatArray:
    r"""Correlation of the falls that an explanation predicts with those of the classifier.

    :math:`r_k(\sum_{i \in S_k} \varphi_i,\; \ell(x) - \ell(x \setminus S_k))` over draws
    :math:`S_k` of the units that are left out, equally many each, the same for every explanation of
    a text. :math:`\ell` is the logit of the explained class less the mean of the others', which
    with two classes is the log odds. Chance is 0: numbers that know nothing of the text foresee
    nothing. How sure the classifier is cancels: a temperature multiplies every fall.

    Args:
        scores: (n,) arrays of the raw attributions of each text's content units.
        foresights: what the classifier does with each text.
        correlate: ``pearson``, or ``spearman`` of ranks.
        signs: ``kept``; or ``ignored``, so that sizes of attributions foresee sizes of falls, as of
            methods without signs.
        left_out: share of the units that each draw leaves out.
        num_masks: draws of a text; 64, and from 33 units on twice as many as units, at most 256, if
            null.

    Returns:
        (n,) in [−1, 1], higher is better; 0 where every attribution is 0, which foresees nothing;
        NaN where a text has fewer than four units, an attribution is not finite, or the falls are
        constant, or the attributions at another number.
    """
    values = np.full(len(scores), np.nan)
    by_draws = grouped(range(len(scores)), lambda index: len(foresights[index].falls))
    by_draws.pop(0, None)  # too few units
    for places in by_draws.values():
        attributions = [scores[place] for place in places]
        falls = np.array([foresights[place].falls for place in places])
        if signs == "ignored":
            attributions = [*map(np.abs, attributions)]
            falls = np.abs(falls)
        masks = [foresights[place].left_out for place in places]
        predicted = np.array([*map(predictions, attributions, masks)])
        foreseen = _foreseen(predicted, falls, by_ranks=correlate == "spearman")
        is_nothing = np.array([not np.any(row) for row in attributions])
        foreseen[is_nothing & ~_are_rounding(falls)] = 0.0
        values[places] = foreseen
    return values


def _foreseen(predicted: FloatArray, falls: FloatArray, *, by_ranks: bool) -> FloatArray:
    """Return the (n,) correlations of rows of (n, k); NaN where one is constant or not finite."""
    with np.errstate(invalid="ignore"):
        ranges = np.ptp(predicted, axis=1)
    differ = ranges > _CONSTANT * np.abs(predicted).max(axis=1)
    counted = np.isfinite(predicted).all(axis=1) & differ & ~_are_rounding(falls)
    pair = predicted[counted], falls[counted]
    if by_ranks:
        pair = _ranks(pair[0]), _ranks(pair[1])
    values = np.full(len(predicted), np.nan)
    values[counted] = correlations(*pair)
    return values


def _are_rounding(falls: FloatArray) -> BoolArray:
    """Return which rows of (n, k) falls differ by rounding alone."""
    return np.asarray(falls.std(axis=1) < ROUNDING)


def _ranks(values: FloatArray) -> FloatArray:
    from scipy.stats import rankdata

    return np.asarray(rankdata(values, axis=1), dtype=np.float64)
