"""Forward simulation: how well an explanation foresees the classifier without half of a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np

from exparity.core.flags import Range, Share
from exparity.metrics import metric
from exparity.metrics.foresight import ROUNDING, Foresight, correlation, predictions
from exparity.types import FloatArray

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
    for index, (attributions, foresight) in enumerate(zip(scores, foresights, strict=True)):
        falls = foresight.falls
        if signs == "ignored":
            attributions = np.abs(attributions)
            falls = np.abs(falls)
        predicted = predictions(attributions, foresight.left_out)
        if not len(predicted) or not np.isfinite(predicted).all():
            continue
        if falls.std() < ROUNDING:
            continue
        if not np.any(attributions):
            values[index] = 0.0
            continue
        if np.ptp(predicted) <= _CONSTANT * np.abs(predicted).max():
            continue
        pair = predicted, falls
        if correlate == "spearman":
            pair = _ranks(predicted), _ranks(falls)
        values[index] = correlation(*pair)
    return values


def _ranks(values: FloatArray) -> FloatArray:
    from scipy.stats import rankdata

    return np.asarray(rankdata(values), dtype=np.float64)
