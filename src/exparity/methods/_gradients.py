"""Parts of gradient methods: poolings of a gradient, baselines, and the mean along a path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from exparity.methods._pooling import Pooling, pooled
from exparity.types import FloatArray, IntArray

if TYPE_CHECKING:
    import torch

    from exparity.methods import MethodBatch

PathPooling = Literal["l2", "sum", "times_input"]

ROUNDING_NOISE = "rounding_noise"
"""Flag of scores that are exactly zero in theory, so that only rounding errors are left.

A model that normalises each token's embedding (LayerNorm) does not see a constant added to all its
elements. The derivative in that direction, which is the sum over the embedding dimension, is zero.
"""


def input_attributions(batch: MethodBatch, pooling: Pooling) -> list[FloatArray]:
    """Return (t,) scores of each text by the gradient at the input itself; see :func:`pooled`."""
    pairs = zip(batch.gradients(), batch.word_rows, strict=True)
    return [pooled(gradient, rows, pooling) for gradient, rows in pairs]


def baseline_ids(batch: MethodBatch, row: int) -> IntArray:
    """Return the baseline of a text: its special tokens stay, every other becomes padding."""
    ids, classifier = batch.token_ids[row], batch.classifier
    absent = classifier.in_place_of(ids, classifier.pad_id)
    return np.where(batch.special_masks[row], ids, absent)


def baseline_rows(batch: MethodBatch) -> list[torch.Tensor]:
    """Return the (t, h) embeddings of each text's baseline."""
    return [batch.classifier.embed(baseline_ids(batch, row)) for row in range(len(batch))]


def path_attributions(batch: MethodBatch, pooling: PathPooling, n_steps: int) -> list[FloatArray]:
    """Return (t,) scores of each text by the mean gradient on the line from its baseline.

    Steps of all texts share batches; a text's gradients are summed as they come.
    """
    import torch

    nodes, weights = np.polynomial.legendre.leggauss(n_steps)
    nodes, weights = (nodes + 1) / 2, weights / 2  # on [0, 1]
    starts = baseline_rows(batch)
    means = [torch.zeros_like(rows, dtype=torch.float64) for rows in batch.rows]
    places = [nodes] * len(batch)
    for row, step, gradient in batch.gradients_between(lambda row, _: starts[row], places):
        means[row].add_(gradient.double(), alpha=float(weights[step]))
    if pooling == "sum" and _is_noise(means, batch.rows[0].dtype):
        batch.flags.add(ROUNDING_NOISE)
    scores = []
    for mean, rows, start in zip(means, batch.rows, starts, strict=True):
        if pooling == "l2":
            own = mean.norm(dim=-1)
        elif pooling == "sum":
            own = mean.sum(-1)
        else:
            own = (mean * (rows - start).double()).sum(-1)
        scores.append(own.cpu().numpy())
    return scores


def _is_noise(means: Sequence[torch.Tensor], dtype: torch.dtype) -> bool:
    """Return whether plain sums are so small beside their parts that rounding left them over."""
    import torch

    sizes = [(float(m.sum(-1).abs().max()), float(m.abs().sum(-1).max())) for m in means]
    level = min(100 * torch.finfo(dtype).eps, 0.05)
    return max(plain / size if size else 0.0 for plain, size in sizes) < level
