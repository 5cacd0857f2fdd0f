"""Max-sensitivity (Yeh et al. 2019)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from exparity.core.flags import Count, Positive
from exparity.metrics import MetricBatch, metric
from exparity.metrics._ascent import Ascent, by_length
from exparity.types import BoolArray, FloatArray

if TYPE_CHECKING:
    import torch


@metric(
    "sensitivity",
    direction="lower",
    bounds=(0.0, float("inf")),
    unit="relative change",
    kind="robustness",
    needs="explainer",
    stochastic=False,
    reference="Yeh et al. 2019, arXiv:1901.09392, definition 3",
    display="Sensitivity",
    passes=12,
    needs_weights=True,
)
def sensitivity(
    batch: MetricBatch,
    *,
    steps: Count = 10,
    radius: Positive = 0.05,
) -> FloatArray:
    r"""Largest relative change of the explanation near the text, in embedding space.

    :math:`\max_{\lVert \delta \rVert \le r} \lVert \Phi(x + \delta) - \Phi(x) \rVert /
    \lVert \Phi(x) \rVert` over the iterates of a projected gradient ascent on the prediction loss
    of the target (Madry et al. 2018), where :math:`\Phi` are raw attributions of content tokens and
    only their embeddings move. The method draws the same random numbers for every copy.

    Args:
        batch: the explanations.
        steps: of the ascent, 2.5 / steps radii each; each costs a gradient and an explanation.
        radius: r, of the ball, in units of the content embeddings' Euclidean norm.

    Returns:
        (n,) not negative, lower is better; NaN where all attributions are zero or one is not
        finite.

    Raises:
        InputError: explanations that cannot be made again.
    """
    masks = batch.content_masks
    texts = range(len(batch))
    radii = [radius * _size(batch, text) for text in texts]
    ascent = Ascent(batch, np.arange(len(batch)), masks, by_length, radii, steps)
    copies: list[torch.Tensor] = []
    for _ in range(steps):
        ascent.step(batch.targets)
        copies += [ascent.copy(text) for text in texts]
    owners = np.tile(np.arange(len(batch)), steps)
    originals, moved = batch.attributions(copies, owners)
    worst = np.zeros(len(batch))
    for owner, scores in zip(owners, moved, strict=True):
        change = _change(originals[owner], scores, masks[owner])
        worst[owner] = np.maximum(worst[owner], change)  # which keeps NaN
    return worst


def _size(batch: MetricBatch, owner: int) -> float:
    """Return the Euclidean norm of a text's content embeddings."""
    import torch

    content = batch.word_rows[owner][torch.tensor(batch.content_masks[owner])]
    return float(np.sqrt(float(content.double().square().sum())))


def _change(original: FloatArray, moved: FloatArray, mask: BoolArray) -> float:
    """Return the relative change of the content tokens' attributions; NaN if undefined."""
    size = float(np.linalg.norm(original[mask]))
    change = float(np.linalg.norm(moved[mask] - original[mask]))
    return change / size if size > 0 and np.isfinite(size) and np.isfinite(change) else np.nan
