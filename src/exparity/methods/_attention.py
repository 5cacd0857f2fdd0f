"""Attention weights, read where a model attends. Imports torch at its top, as methods do not."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

_SOFTMAXES = (F.softmax, torch.softmax, torch.Tensor.softmax)
_NAMES = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")


class Rollout(TorchFunctionMode):
    """Within the context, the attention of layer after layer is multiplied up.

    Text by text, so that a product has the same bits whatever a text is batched with.

    Attributes:
        products: (t, t) float64 of each text, row i the share of each input in position i; empty
            before the first layer. Clear it before each batch.
    """

    def __init__(self) -> None:
        super().__init__()
        self.products: list[torch.Tensor] = []

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if func is F.scaled_dot_product_attention:
            self._add(_weights(**dict(zip(_NAMES, args, strict=False)), **(kwargs or {})))
        elif func in _SOFTMAXES and result.ndim in (3, 4):
            self._add(result if result.ndim == 4 else result[:, None])
        return result

    def _add(self, weights: torch.Tensor) -> None:
        """Go through one layer with (b, heads, t, t) weights, and as much past it."""
        if weights.shape[-1] != weights.shape[-2]:  # of something else than the text's own tokens
            return
        layers = []
        for of_text in weights:
            mean = of_text.double().mean(0)
            layer = (mean + torch.eye(len(mean), dtype=mean.dtype, device=mean.device)) / 2
            layers.append(layer / layer.sum(-1, keepdim=True))
        before = self.products or [torch.eye(len(one), dtype=one.dtype) for one in layers]
        self.products = [one @ two.to(one) for one, two in zip(layers, before, strict=True)]


def _weights(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """Return the (b, heads, q, t) weights of a call of torch's attention."""
    if enable_gqa:
        key = key.repeat_interleave(query.shape[1] // key.shape[1], 1)
    pairs = zip(query, key, strict=True)
    scores = torch.stack([one @ other.transpose(-2, -1) for one, other in pairs])
    scores = scores * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        attn_mask = torch.ones_like(scores, dtype=torch.bool).tril()
    if attn_mask is None:
        return scores.softmax(-1)
    if attn_mask.dtype == torch.bool:
        return scores.masked_fill(~attn_mask, torch.finfo(scores.dtype).min).softmax(-1)
    return (scores + attn_mask).softmax(-1)
