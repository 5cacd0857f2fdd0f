"""Attention of short texts on a CPU, filled up to whole vectors.

torch's kernel takes exponentials of what is left beyond whole vectors one number at a time, so that
a text of 31 tokens takes over twice as long as one of 32. Keys that no query sees fill it up.
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


@contextmanager
def filled_up() -> Iterator[None]:
    """Within the context, models of transformers fill up keys in bfloat16 without gradients.

    What shares a batch stays without influence: each text has keys of its own. float32 is left as
    it is, since the sum of a row would be rounded otherwise.
    """
    attend = ALL_ATTENTION_FUNCTIONS[SDPA]

    def attend_filled_up(
        module: torch.nn.Module,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attention_mask: torch.Tensor | None,
        **options: object,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        if attention_mask is None and _pays(module, query, key, options):
            missing = -key.shape[2] % _VECTOR
            attention_mask = _mask(key, missing)
            key = _longer(key, missing)
            value = _longer(value, missing)
        attended: tuple[torch.Tensor, torch.Tensor | None] = attend(
            module, query, key, value, attention_mask, **options
        )
        return attended

    ALL_ATTENTION_FUNCTIONS[SDPA] = attend_filled_up
    try:
        yield
    finally:
        ALL_ATTENTION_FUNCTIONS[SDPA] = attend


def _pays(
    module: torch.nn.Module, query: torch.Tensor, key: torch.Tensor, options: Mapping[str, object]
) -> bool:
    """Return whether filling up is faster, and changes nothing but how sums are rounded."""
    causal = options.get("is_causal")
    if causal is None:
        causal = getattr(module, "is_causal", True)
    return (
        key.dtype == torch.bfloat16
        and key.device.type == "cpu"
        and key.shape[2] % _VECTOR > _REST
        and query.shape[2] > 1
        and not causal
        and not torch.is_grad_enabled()
        and options.get("position_bias") is None
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
