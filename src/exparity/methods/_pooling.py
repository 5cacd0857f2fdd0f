"""From the gradient of a text to one score per token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from exparity.interface import FloatArray

if TYPE_CHECKING:
    import torch

Pooling = Literal["l1", "times_input"]


def pooled(gradient: torch.Tensor, rows: torch.Tensor, pooling: Pooling) -> FloatArray:
    """Turn gradients into one score per token.

    Args:
        gradient: (..., t, h) gradient of the target logit.
        rows: (..., t, h) embeddings that it was taken at.
        pooling: ``l1`` norm over the embedding dimension, or the sum of the gradient
            ``times_input``.

    Returns:
        (..., t) float64.
    """
    parts = gradient.double()
    parts = parts.abs() if pooling == "l1" else parts * rows.double()
    found: FloatArray = parts.sum(-1).cpu().numpy()
    return found
