"""What gradient methods share: poolings of a gradient, baselines, and the mean along a path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from exparity.methods._pooling import Pooling, pooled
from exparity.types import FloatArray, IntArray

if TYPE_CHECKING:
    import torch

    from exparity.methods import MethodBatch

PathPooling = Literal["l2", "sum", "times_input"]
_POOLINGS: tuple[Pooling, ...] = ("l1", "times_input")

ROUNDING_NOISE = "rounding_noise"
"""Flag of scores that are exactly zero in theory, so that only rounding errors are left.

A model that normalises each token's embedding (LayerNorm) does not see a constant added to all its
elements. The derivative in that direction, which is the sum over the embedding dimension, is zero.
"""


def input_attributions(batch: MethodBatch, pooling: Pooling) -> list[FloatArray]:
    """Return (t,) scores of each text by the gradient at the input itself; see :func:`pooled`."""
    key = ("gradient", str(batch.explains))
    if key not in batch.memo:
        gradients = list(zip(batch.gradients(), batch.word_rows, strict=True))
        batch.memo[key] = {
            kind: [pooled(gradient, rows, kind) for gradient, rows in gradients]
            for kind in _POOLINGS
        }
    scores: list[FloatArray] = batch.memo[key][pooling]
    return scores


def baseline_ids(batch: MethodBatch, row: int) -> IntArray:
    """Return the baseline of a text: its special tokens stay, every other becomes padding."""
    ids, classifier = batch.token_ids[row], batch.classifier
    absent = classifier.in_place_of(ids, classifier.pad_id)
    return np.where(batch.special_masks[row], ids, absent)


def baseline_rows(batch: MethodBatch) -> list[torch.Tensor]:
    """Return the (t, h) embeddings of each text's baseline."""
    return [batch.classifier.embed(baseline_ids(batch, row)) for row in range(len(batch))]


def path_attributions(batch: MethodBatch, pooling: PathPooling, n_steps: int) -> list[FloatArray]:
    """Return (t,) scores of each text by the mean gradient on the line from its baseline."""
    key = ("path", n_steps, str(batch.explains))
    if key not in batch.memo:
        batch.memo[key] = _path_sums(batch, n_steps)
    pooled_sums = batch.memo[key]
    if pooling == "sum" and pooled_sums["noise"]:
        batch.flags.add(ROUNDING_NOISE)
    scores: list[FloatArray] = pooled_sums[pooling]
    return scores


def _path_sums(batch: MethodBatch, n_steps: int) -> dict[str, Any]:
    """Return all poolings of the path's mean gradient, and whether the plain sum is noise.

    Steps of all texts share batches; a text's gradients are summed as they come.
    """
    import torch

    nodes, weights = np.polynomial.legendre.leggauss(n_steps)
    nodes, weights = (nodes + 1) / 2, weights / 2  # on [0, 1]
    ends, starts = batch.rows, baseline_rows(batch)
    sums = [torch.zeros_like(end, dtype=torch.float64) for end in ends]

    places = [nodes] * len(batch)
    for row, step, gradient in batch.gradients_between(lambda row, _: starts[row], places):
        sums[row].add_(gradient.double(), alpha=float(weights[step]))
    pooled_sums: dict[str, Any] = {"l2": [], "sum": [], "times_input": []}
    ratios = []
    for mean, start, end in zip(sums, starts, ends, strict=True):
        plain = mean.sum(-1)
        pooled_sums["l2"].append(mean.norm(dim=-1).cpu().numpy())
        pooled_sums["sum"].append(plain.cpu().numpy())
        pooled_sums["times_input"].append((mean * (end - start).double()).sum(-1).cpu().numpy())
        size = float(mean.abs().sum(-1).max())
        ratios.append(float(plain.abs().max()) / size if size else 0.0)
    # Below this share of its parts' size a sum is left over from rounding.
    noise_level = min(100 * torch.finfo(ends[0].dtype).eps, 0.05)
    pooled_sums["noise"] = max(ratios) < noise_level
    return pooled_sums
