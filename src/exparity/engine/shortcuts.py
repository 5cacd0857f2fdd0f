"""Leaving out work that cannot reach the output: opt-in, for families whose layers are known.

A classification head reads one position of the last layer, see :mod:`~exparity.models.encoders`.
Those of GPT-2 and OLA are cut down here. The first layer of masked texts is looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional as F

from exparity.core.errors import InputError
from exparity.models.encoders import by_head, refusal
from exparity.models.families import DECODERS, ENCODERS, FAMILIES, ONE_LAYER
from exparity.models.lookup import replaced

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Forward = Callable[..., torch.Tensor]


def check_family(model: PreTrainedModel) -> None:
    """Refuse a model whose layers and head are not of a family that shortcuts know."""
    family = model.config.model_type
    if family not in FAMILIES:
        raise InputError(
            f"shortcuts: not available for models of type '{family}', only for "
            f"{', '.join(FAMILIES)}; leave them off"
        )
    why = refusal(model) if family in ENCODERS else None
    if why is not None:
        raise InputError(f"shortcuts: {why}")


def pooled_position_only(
    model: PreTrainedModel, lengths: Sequence[int]
) -> AbstractContextManager[None]:
    """Within the context, the last layer computes only the position that the head reads.

    Args:
        model: of a family in ``FAMILIES`` that is no encoder: see :mod:`exparity.models.encoders`.
        lengths: (b,) rows that count of the batch that will be run.
    """
    base: Any = model.base_model
    if model.config.model_type in DECODERS:
        return replaced({base.h[-1]: _decoder_layer(base.h[-1], lengths)})
    attend = base.attention.forward
    return replaced({base.attention: lambda rows, mask=None: attend(rows, mask, rows[:, :1])})


def _attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    n_heads: int,
    mask: torch.Tensor | None,
    scaling: float,
) -> torch.Tensor:
    """Return (b, q, h) attention output of (b, q, h) and (b, t, h) projections."""
    query = by_head(query, n_heads)
    key = by_head(key, n_heads)
    value = by_head(value, n_heads)
    output = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scaling)
    return output.transpose(1, 2).flatten(-2)


def _decoder_layer(layer: Any, lengths: Sequence[int]) -> Forward:
    """Return a GPT-2 block's forward that fills only the last position of each text."""
    attention = layer.attn

    def forward(
        hidden_states: torch.Tensor,
        past_key_values: object = None,
        attention_mask: torch.Tensor | None = None,
        *_: object,
        **__: object,
    ) -> torch.Tensor:
        device = hidden_states.device
        rows = torch.arange(len(lengths), device=device)
        last = torch.as_tensor(lengths, device=device) - 1
        # Queries of the other positions come along: one product is faster than two.
        projected = attention.c_attn(layer.ln_1(hidden_states))
        queries, key, value = projected.split(attention.embed_dim, dim=-1)
        query = queries[rows, last][:, None]
        # The last position sees every one up to itself, and no padding.
        seen = torch.arange(hidden_states.shape[1], device=device)[None] <= last[:, None]
        context = _attend(
            query,
            key,
            value,
            attention.num_heads,
            None if min(lengths) == hidden_states.shape[1] else seen[:, None, None],
            attention.scaling,
        )
        attended = attention.c_proj(context) + hidden_states[rows, last][:, None]
        attended = attended + layer.mlp(layer.ln_2(attended))
        result = torch.zeros_like(hidden_states)
        return result.index_put((rows, last), attended[:, 0])

    return forward


class FirstLayer:
    """Inputs and projections of the first layer for all rows that masked texts can have, looked up.

    At each position a masked text holds its own row of (n, t, h) ``rows``, or the (h,) ``absent``.

    Attributes:
        replaces_inputs: whether the embeddings that the model is given are not read at all.
    """

    def __init__(self, model: PreTrainedModel, rows: torch.Tensor, absent: torch.Tensor) -> None:
        base: Any = model.base_model
        n_texts, width, _ = rows.shape
        rows_and_absent = torch.cat([rows, absent.expand(1, width, -1)])
        with torch.inference_mode():
            if model.config.model_type in ENCODERS + ONE_LAYER:
                has_one_layer = model.config.model_type in ONE_LAYER
                attention = (
                    base.attention if has_one_layer else base.encoder.layer[0].attention.self
                )
                self._modules = [attention.query, attention.key, attention.value]
                inputs = base.embeddings(inputs_embeds=rows_and_absent)
            else:
                block = base.h[0]
                self._modules = [block.attn.c_attn]
                positions = torch.arange(width, device=rows.device)
                inputs = block.ln_1(rows_and_absent + base.wpe(positions))
            self._tables = [module(inputs).flatten(0, 1) for module in self._modules]
            self.replaces_inputs = model.config.model_type in ENCODERS
            if self.replaces_inputs:
                self._modules.append(base.embeddings)
                self._tables.append(inputs.flatten(0, 1))
        self._width = width
        self._absent = n_texts * width
        self._index: torch.Tensor | None = None

    def show(self, texts: torch.Tensor, stays: torch.Tensor) -> None:
        """Say which text each item of the next batch is of, (b,), and which rows stay, (b, t)."""
        positions = torch.arange(stays.shape[1], device=stays.device)
        shown = texts[:, None] * self._width + positions
        self._index = torch.where(stays, shown, self._absent + positions)

    def in_use(self) -> AbstractContextManager[None]:
        """Within the context, the first layer looks up what it would compute."""
        return replaced(dict(zip(self._modules, map(self._lookup, self._tables), strict=True)))

    def _lookup(self, table: torch.Tensor) -> Forward:
        def forward(inputs_embeds: torch.Tensor) -> torch.Tensor:
            index = self._index
            assert index is not None
            if len(index) < len(inputs_embeds):  # a tiny batch, filled up with its first row
                more = index[:1].expand(len(inputs_embeds) - len(index), -1)
                index = torch.cat([index, more])
            return F.embedding(index, table)

        return forward
