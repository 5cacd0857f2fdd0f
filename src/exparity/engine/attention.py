"""Attention of short texts in bfloat16 on a CPU, as torch's kernels compute it fastest.

Without gradients, the kernel takes exponentials of what is left beyond whole vectors one number at
a time, so that a text of 31 tokens takes over twice as long as one of 32. Keys that no query sees
fill it up. With gradients, its backward pass takes up to thirteen times as long as the one in
float32, which takes its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch.nn import functional as F
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from exparity.models.encoders import SDPA

_VECTOR = 16
"""Numbers of float32, in which the kernel sums, in a vector of AVX-512."""
_REST = 4
"""Most keys beyond whole vectors that cost less than filling them up."""
_MOST_KEYS = 128
"""Most keys with which gradients are faster in float32, whatever the width of heads."""


@contextmanager
def quick_attention() -> Iterator[None]:
    """Within the context, models of transformers in bfloat16 attend to short texts faster.

    What shares a batch stays without influence: each text has keys of its own. float32 is left as
    it is, since the sum of a row would be rounded otherwise.
    """
    attend = ALL_ATTENTION_FUNCTIONS[SDPA]

    def attend_quickly(
        module: torch.nn.Module,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attention_mask: torch.Tensor | None,
        **options: object,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        attended: torch.Tensor
        weights: torch.Tensor | None
        if _is_faster_in_float32(key, options):
            states = (query.float(), key.float(), value.float())
            mask = _as_float32(attention_mask)
            attended, weights = attend(module, *states, mask, **options)
            return attended.to(query.dtype), weights
        if attention_mask is None and _is_faster_filled_up(module, query, key, options):
            missing = -key.shape[2] % _VECTOR
            attention_mask = _mask(key, missing)
            key = _longer(key, missing)
            value = _longer(value, missing)
        attended, weights = attend(module, query, key, value, attention_mask, **options)
        return attended, weights

    ALL_ATTENTION_FUNCTIONS[SDPA] = attend_quickly
    try:
        yield
    finally:
        ALL_ATTENTION_FUNCTIONS[SDPA] = attend


def _is_coarse(key: torch.Tensor, options: Mapping[str, object]) -> bool:
    """Return whether attention is what this module knows: in bfloat16, on a CPU, of no T5."""
    is_of_cpu = key.device.type == "cpu"
    return is_of_cpu and key.dtype == torch.bfloat16 and options.get("position_bias") is None


def _is_faster_in_float32(key: torch.Tensor, options: Mapping[str, object]) -> bool:
    """Return whether gradients are taken, of a text that is short enough."""
    return torch.is_grad_enabled() and key.shape[2] <= _MOST_KEYS and _is_coarse(key, options)


def _as_float32(mask: torch.Tensor | None) -> torch.Tensor | None:
    """Return a mask that is added to scores in float32; one that says what is seen as it is."""
    return mask.float() if mask is not None and mask.is_floating_point() else mask


def _is_faster_filled_up(
    module: torch.nn.Module, query: torch.Tensor, key: torch.Tensor, options: Mapping[str, object]
) -> bool:
    """Return whether filling up is faster, and changes nothing but how sums are rounded."""
    causal = options.get("is_causal")
    if causal is None:
        causal = getattr(module, "is_causal", True)
    return (
        key.shape[2] % _VECTOR > _REST
        and query.shape[2] > 1
        and not causal
        and not torch.is_grad_enabled()
        and _is_coarse(key, options)
    )


def _mask(key: torch.Tensor, missing: int) -> torch.Tensor:
    """Return the (1, 1, 1, t + missing) mask that is added to scores."""
    length = key.shape[2]
    mask = key.new_zeros(1, 1, 1, length + missing)
    mask[..., length:] = -torch.inf
    return mask


def _longer(states: torch.Tensor, missing: int) -> torch.Tensor:
    """Return (b, heads, t + missing, d) keys or values, laid out in memory as a model's are."""
    return F.pad(states.transpose(1, 2), (0, 0, 0, 0, 0, missing)).transpose(1, 2)
