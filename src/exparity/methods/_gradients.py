"""Parts of gradient methods: poolings of a gradient, baselines, and the mean along a path."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from exparity.methods import MethodBatch, method
from exparity.types import FloatArray

if TYPE_CHECKING:
    import torch

Pooling = Literal["l1", "times_input"]
PathPooling = Literal["l2", "sum", "times_input"]
_SUMS: tuple[PathPooling, ...] = get_args(PathPooling)
_SIZE = len(_SUMS)  # column of the sum of absolute values

gradient_method = partial(
    method, signed=True, needs_gradient=True, target="logit", baseline=None, stochastic=False
)
"""Registers a method that differentiates logits."""
path_method = partial(gradient_method, baseline="special tokens kept, padding elsewhere")
"""Registers one that compares a text with :func:`baseline_rows`."""
ROUNDING_NOISE = "rounding_noise"
"""Flag of scores that are exactly zero in theory, so that only rounding errors are left.

A model that normalises each token's embedding (LayerNorm) does not see a constant added to all its
elements. The derivative in that direction, which is the sum over the embedding dimension, is zero.
"""


def pooled(gradient: torch.Tensor, rows: torch.Tensor, pooling: Pooling) -> FloatArray:
    """Turn the (t, h) gradient at (t, h) embeddings into (t,) float64, one score per token.

    By its ``l1`` norm over the embedding dimension, or the sum of the gradient ``times_input``.
    """
    parts = gradient.double()
    parts = parts.abs() if pooling == "l1" else parts * rows.double()
    return np.asarray(parts.sum(-1).cpu().numpy())


def input_attributions(batch: MethodBatch, pooling: Pooling) -> list[FloatArray]:
    """Return (t,) scores of each text by the gradient at the input itself; see :func:`pooled`."""
    key = ("gradient", str(batch.explains))
    if key not in batch.memo:
        batch.memo[key] = [
            {kind: pooled(gradient, rows, kind) for kind in get_args(Pooling)}
            for gradient, rows in zip(batch.gradients(), batch.word_rows, strict=True)
        ]
    return [scores[pooling] for scores in batch.memo[key]]


def baseline_rows(batch: MethodBatch) -> list[torch.Tensor]:
    """Return the (t, h) embeddings of each text's baseline.

    Its special tokens stay, and every other becomes padding.
    """
    classifier = batch.classifier
    return [
        classifier.embed(np.where(special, ids, classifier.in_place_of(ids, classifier.pad_id)))
        for special, ids in zip(batch.special_masks, batch.token_ids, strict=True)
    ]


def path_attributions(batch: MethodBatch, pooling: PathPooling, n_steps: int) -> list[FloatArray]:
    """Return (t,) scores of each text by the mean gradient on the line from its baseline."""
    key = ("path", n_steps, str(batch.explains))
    if key not in batch.memo:
        batch.memo[key] = _path_sums(batch, n_steps)
    sums: list[FloatArray] = batch.memo[key]
    if pooling == "sum" and _is_noise(sums, batch.rows[0].dtype):
        batch.flags.add(ROUNDING_NOISE)
    return [text_sums[:, _SUMS.index(pooling)] for text_sums in sums]


def _path_sums(batch: MethodBatch, n_steps: int) -> list[FloatArray]:
    """Return (t, 4) poolings ``_SUMS`` of the mean gradient on the path of each text."""
    import torch

    nodes, weights = np.polynomial.legendre.leggauss(n_steps)
    nodes = (nodes + 1) / 2  # on [0, 1]
    weights = weights / 2
    starts = baseline_rows(batch)
    sums = [torch.zeros_like(rows, dtype=torch.float64) for rows in batch.rows]

    places = [nodes] * len(batch)
    for row, step, gradient in batch.gradients_between(starts, places):
        sums[row].add_(gradient.double(), alpha=float(weights[step]))
    pooled_sums = []
    for row, mean in enumerate(sums):
        distance = (batch.rows[row] - starts[row]).double()
        kinds = (mean.norm(dim=-1), mean.sum(-1), (mean * distance).sum(-1), mean.abs().sum(-1))
        pooled_sums.append(torch.stack(kinds, dim=-1).cpu().numpy())
    return pooled_sums


def _is_noise(sums: Sequence[FloatArray], dtype: torch.dtype) -> bool:
    """Return whether plain sums are so small beside their parts that rounding left them over."""
    import torch

    column = _SUMS.index("sum")
    sizes = [(np.abs(values[:, column]).max(), values[:, _SIZE].max()) for values in sums]
    level = min(100 * torch.finfo(dtype).eps, 0.05)
    return max(plain / size if size else 0.0 for plain, size in sizes) < level
