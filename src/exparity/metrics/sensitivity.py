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
    radii = [radius * _size(batch, text) for text in range(len(batch))]
    ascent = Ascent(batch, np.arange(len(batch)), masks, by_length, radii, steps)
    explain_copies = _fused if batch.explainer.facts.pooling else _apart
    originals, moved_owners, moved = explain_copies(batch, ascent, steps)
    worst = np.zeros(len(batch))
    for owner, scores in zip(moved_owners, moved, strict=True):
        worst[owner] = np.maximum(  # which keeps NaN
            worst[owner], _change(originals[owner], scores, masks[owner])
        )
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


Explained = tuple[list[FloatArray], list[int], list[FloatArray]]
"""Attributions of the texts; the text of each copy, and the copy's attributions."""


def _fused(batch: MetricBatch, ascent: Ascent, steps: int) -> Explained:
    """Explain every copy in the same forward pass that the ascent takes there."""
    from exparity.methods import pooled

    pooling = batch.explainer.facts.pooling
    assert pooling is not None
    owners: list[int] = []
    moved: list[FloatArray] = []

    def visit(text: int, gradient: torch.Tensor, copy: torch.Tensor) -> None:
        inputs = batch.classifier.without_types(copy, batch.token_ids[text])
        owners.append(text)
        moved.append(pooled(gradient, inputs, pooling))

    ascent.step(batch.targets)
    for step in range(1, steps + 1):
        ascent.step(batch.targets, climbing=step < steps, visit=visit, objective=batch.objective)
    return [e.scores for e in batch.explanations], owners, moved


def _apart(batch: MetricBatch, ascent: Ascent, steps: int) -> Explained:
    """Find all copies first, then explain them together."""
    copies: list[torch.Tensor] = []
    owners: list[int] = []
    for step in range(steps + 1):
        if step:
            copies += [ascent.copy(text) for text in range(len(batch))]
            owners += range(len(batch))
        if step < steps:
            ascent.step(batch.targets)
    originals, moved = batch.attributions(copies, np.array(owners, dtype=np.int64))
    return originals, owners, moved
