"""Infidelity (Yeh et al. 2019), as the share of variation that attributions leave unexplained."""

from __future__ import annotations

import numpy as np

from exparity.core.flags import Count
from exparity.metrics import MetricBatch, metric
from exparity.types import BoolArray, FloatArray


@metric(
    "infidelity",
    direction="lower",
    bounds=(0.0, float("inf")),
    bounds_where={"normalised": (0.0, 1.0)},
    unit="share",
    kind="faithfulness",
    needs="probabilities",
    stochastic=True,
    reference="Yeh et al. 2019, arXiv:1901.09392, definition 1 and proposition 1.2",
    display="Infidelity",
    passes=50,
)
def infidelity(batch: MetricBatch, *, draws: Count = 50, normalised: bool = True) -> FloatArray:
    r"""How badly sums of attributions predict the fall in probability when their tokens go.

    With :math:`s_I = \sum_{i \in I} \phi_i` and :math:`d_I = f_y(x) - f_y(x \setminus I)`,
    :math:`1 - R^2 = \min_\beta E_I (\beta s_I - d_I)^2 / E_I\, d_I^2`, over random sets I of
    content tokens, whose size is uniform from 1 to all. Sets are those of the text, whatever method
    explained it.

    Args:
        batch: the explanations.
        draws: sets of tokens for each text.
        normalised: 1 − R² of a line through the origin, which the scale of attributions does not
            change; or else the mean of (s − d)² of raw attributions.

    Returns:
        (n,) lower is better; in [0, 1] if ``normalised``. NaN where an attribution is not finite,
        and then also where all sums or all falls are zero.
    """
    sets = [_sets(batch, index, draws) for index in range(len(batch))]
    sequences, owners = list(batch.token_ids), list(range(len(batch)))
    for index, taken in enumerate(sets):
        sequences += [batch.token_ids[index][~removed] for removed in taken]
        owners += [index] * draws
    probabilities = batch.target_probabilities(sequences, owners)
    whole, parts = np.split(probabilities, [len(batch)])
    falls = whole[:, None] - parts.reshape(len(batch), draws)  # (n, s)
    values = np.full(len(batch), np.nan)
    for index, taken in enumerate(sets):
        scores = batch.explanations[index].scores
        if np.isfinite(scores[batch.content_masks[index]]).all():
            sums = taken.astype(float) @ np.where(batch.content_masks[index], scores, 0.0)
            values[index] = unexplained(sums, falls[index], normalised)
    return values


def unexplained(sums: FloatArray, falls: FloatArray, normalised: bool) -> float:
    """Return what (s,) sums leave unexplained of (s,) falls; NaN where that is not defined."""
    if not normalised:
        return float(((sums - falls) ** 2).mean())
    largest = np.abs(sums).max()
    if not largest or not falls.any():
        return float("nan")
    sums = sums / largest  # whose squares could leave the range of floats
    slope = (sums @ falls) / (sums @ sums)
    return min(1.0, float(((slope * sums - falls) ** 2).sum() / (falls @ falls)))


def _sets(batch: MetricBatch, index: int, draws: int) -> BoolArray:
    """Return (s, t) sets of content tokens, each of a uniform size."""
    rng, content = batch.generator(index), np.flatnonzero(batch.content_masks[index])
    sets = np.zeros((draws, len(batch.content_masks[index])), dtype=bool)
    for taken in sets:
        size = int(rng.integers(1, len(content), endpoint=True))
        taken[rng.choice(content, size, replace=False)] = True
    return sets
