"""What gradient methods share: gradients at points on the way from a baseline to the input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from exparity.errors import InputError
from exparity.interface import FloatArray
from exparity.methods import MethodBatch
from exparity.methods._quadrature import gauss_legendre

if TYPE_CHECKING:
    import torch

Pool = Literal["l1", "sum", "times_input"]

ROUNDING_NOISE = "rounding_noise"
"""Flag of scores that are exactly zero in theory, so that only rounding errors are left.

A model that normalises each token's embedding (LayerNorm) does not see a constant added to all its
elements. The derivative in that direction, which is the sum over the embedding dimension, is zero.
"""


def input_attributions(batch: MethodBatch, pool: Pool) -> list[FloatArray]:
    """Attribute by the gradient at the input itself.

    Args:
        batch: the texts.
        pool: how a token's (h,) gradient becomes one score: ``l1`` norm, or the sum of the
            gradient ``times_input``.

    Returns:
        (t,) float64 scores for each text.
    """
    classifier = batch.classifier
    inputs = [classifier.embed(ids) for ids in batch.token_ids]
    scores: list[FloatArray] = [np.zeros(0)] * len(batch)

    def consume(rows: list[int], gradients: torch.Tensor) -> None:
        for place, row in enumerate(rows):
            gradient = gradients[place, : batch.lengths[row]].double()
            pooled = gradient.abs() if pool == "l1" else gradient * inputs[row].double()
            scores[row] = pooled.sum(-1).cpu().numpy()

    from exparity.engine.classifier import padded

    classifier.input_gradients(batch.lengths, padded(inputs), batch.targets, consume)
    return scores


def baseline_ids(batch: MethodBatch, row: int) -> list[int]:
    """Return the baseline of a text: its special tokens stay, every other becomes padding."""
    pad = batch.classifier.pad_id
    pairs = zip(batch.token_ids[row], batch.special_masks[row], strict=True)
    return [int(token) if special else pad for token, special in pairs]


def path_attributions(batch: MethodBatch, pool: Pool, n_steps: int) -> list[FloatArray]:
    """Attribute by the mean gradient on the straight line from the baseline to the input.

    Steps of all texts share batches; a text's gradients are summed as they come.

    Args:
        batch: the texts.
        pool: ``sum`` of the mean gradient over the embedding dimension, or its sum
            ``times_input`` difference.
        n_steps: nodes of the Gauss–Legendre rule.

    Returns:
        (t,) float64 scores for each text.

    Raises:
        InputError: ``n_steps`` is below 1.
    """
    import torch

    if n_steps < 1:
        raise InputError(f"method {batch.method}: n_steps must be at least 1, not {n_steps}")
    classifier = batch.classifier
    nodes, weights = gauss_legendre(n_steps)
    ends = [classifier.embed(ids) for ids in batch.token_ids]
    starts = [classifier.embed(baseline_ids(batch, row)) for row in range(len(batch))]
    sums = [torch.zeros_like(end, dtype=torch.float64) for end in ends]
    items = [(row, step) for row in range(len(batch)) for step in range(n_steps)]

    def build(positions: list[int], width: int) -> torch.Tensor:
        first = ends[items[positions[0]][0]]
        points = first.new_zeros(len(positions), width, first.shape[1])
        for place, position in enumerate(positions):
            row, step = items[position]
            start, end = starts[row], ends[row]
            points[place, : len(end)] = start + nodes[step] * (end - start)
        return points

    def consume(positions: list[int], gradients: torch.Tensor) -> None:
        for place, position in enumerate(positions):
            row, step = items[position]
            sums[row] += weights[step] * gradients[place, : len(ends[row])].double()

    lengths = [len(ends[row]) for row, _ in items]
    targets = np.repeat(batch.targets, n_steps)
    classifier.input_gradients(lengths, build, targets, consume)
    scores, ratios = [], []
    for mean, start, end in zip(sums, starts, ends, strict=True):
        parts = mean * (end - start).double() if pool == "times_input" else mean
        pooled = parts.sum(-1)
        scores.append(pooled.cpu().numpy())
        size = float(parts.abs().sum(-1).max())
        ratios.append(float(pooled.abs().max()) / size if size else 0.0)
    if ratios and max(ratios) < _noise_level(ends[0].dtype):
        batch.flags.add(ROUNDING_NOISE)
    return scores


def _noise_level(dtype: torch.dtype) -> float:
    """Return the share of its parts' size below which a sum is left over from rounding."""
    import torch

    return min(100 * torch.finfo(dtype).eps, 0.05)
