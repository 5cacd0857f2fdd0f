"""From the gradient at each element of an embedding to one score a token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from exparity.types import FloatArray

if TYPE_CHECKING:
    import torch

Pooling = Literal["l1", "times_input"]


def pooled(gradient: torch.Tensor, rows: torch.Tensor, pooling: Pooling) -> FloatArray:
    """Turn the (t, h) gradient of the target logit into (t,) float64, one score per token.

    Args:
        gradient: the gradient.
        rows: embeddings that it was taken at.
        pooling: ``l1`` norm over the embedding dimension, or the sum of the gradient
            ``times_input``.
    """
    parts = gradient.double()
    parts = parts.abs() if pooling == "l1" else parts * rows.double()
    sums: FloatArray = parts.sum(-1).cpu().numpy()
    return sums
