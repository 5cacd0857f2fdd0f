"""Leaving out work that cannot reach the output: opt-in, for families whose layers are known.

A classification head reads one position of the last layer. There, only keys and values of the other
positions count; their queries, outputs and feed-forward layers do not. What is left out is never
read, so that probabilities differ by rounding alone.

BERT and RoBERTa are run here layer by layer: in a small model what transformers does around each
layer takes as long as the layer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, cast

import torch
from torch import nn
from torch.nn import functional as F
from transformers.activations import GELUActivation
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from exparity.core.errors import InputError
from exparity.engine.attention import SDPA
from exparity.models.lookup import replaced

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Forward = Callable[..., torch.Tensor]

ENCODERS = ("bert", "roberta")
DECODERS = ("gpt2",)
ONE_LAYER = ("ola",)
_ENCODER_CLASSES = ("BertForSequenceClassification", "RobertaForSequenceClassification")
FAMILIES = ENCODERS + DECODERS + ONE_LAYER


class _HalfEnd(Protocol):
    """End of half a layer: its product is added to what the half read, and normalised."""

    dense: nn.Module
    LayerNorm: nn.Module


class _Intermediate(Protocol):
    """Middle of a feed-forward half."""

    dense: nn.Module
    intermediate_act_fn: nn.Module


class _SelfAttention(Protocol):
    """Projections of an attention half."""

    query: nn.Module
    key: nn.Module
    value: nn.Module
    num_attention_heads: int
    scaling: float


class _Attention(Protocol):
    """An attention half."""

    self: _SelfAttention
    output: _HalfEnd


class _Layer(Protocol):
    """A layer of BERT or RoBERTa."""

    attention: _Attention
    intermediate: _Intermediate
    output: _HalfEnd


class _Encoder(Protocol):
    """All layers."""

    layer: Sequence[_Layer]


class _Base(Protocol):
    """The model below the head; BERT's pooler belongs to it, RoBERTa's to its head."""

    embeddings: nn.Module
    encoder: _Encoder
    pooler: nn.Module | None


class _EncoderClassifier(Protocol):
    """A classifier of one of the classes that :func:`check_family` lets through."""

    base_model: _Base
    classifier: nn.Module


def check_family(model: PreTrainedModel) -> None:
    """Refuse a model whose layers and head are not of a family that shortcuts know."""
    family = model.config.model_type
    if family not in FAMILIES:
        raise InputError(
            f"shortcuts: not available for models of type '{family}', only for "
            f"{', '.join(FAMILIES)}; leave them off"
        )
    model_class = type(model)
    is_of_transformers = model_class.__module__.startswith("transformers.models.")
    if family in ENCODERS and not (is_of_transformers and model_class.__name__ in _ENCODER_CLASSES):
        raise InputError(
            f"shortcuts: not available for models of class {model_class.__name__}, only for "
            f"transformers' {', '.join(_ENCODER_CLASSES)}; leave them off"
        )


def pooled_position_only(
    model: PreTrainedModel, lengths: Sequence[int]
) -> AbstractContextManager[None]:
    """Within the context, the last layer computes only the position that the head reads.

    Args:
        model: of a family in ``FAMILIES`` that is no encoder: these have :func:`encoder_logits`.
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
    query = _by_head(query, n_heads)
    key = _by_head(key, n_heads)
    value = _by_head(value, n_heads)
    output = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scaling)
    return output.transpose(1, 2).flatten(-2)


def _by_head(states: torch.Tensor, n_heads: int) -> torch.Tensor:
    """Return (b, t, h) states as (b, heads, t, h / heads)."""
    return states.view(*states.shape[:2], n_heads, -1).transpose(1, 2)


def encoder_logits(
    model: PreTrainedModel, embeddings: torch.Tensor, mask: torch.Tensor | None
) -> torch.Tensor:
    """Return the (b, c) logits of a BERT or RoBERTa classifier, in evaluation mode.

    Args:
        model: of one of the classes that :func:`check_family` lets through.
        embeddings: (b, t, h) input embeddings, padded at the end.
        mask: (b, t) 0 for padding; None where there is none.
    """
    classifier = cast("_EncoderClassifier", model)
    base = classifier.base_model
    seen = None if mask is None else mask.bool()[:, None, None]
    states = base.embeddings(inputs_embeds=embeddings)
    *layers, last = base.encoder.layer
    for layer in layers:
        states = _run_layer(layer, states, states, seen)
    pooled = _run_layer(last, states[:, :1], states, seen)
    if base.pooler is not None:
        pooled = base.pooler(pooled)
    logits: torch.Tensor = classifier.classifier(pooled)
    return logits


def _run_layer(
    layer: _Layer, reading: torch.Tensor, states: torch.Tensor, seen: torch.Tensor | None
) -> torch.Tensor:
    """Return the (b, q, h) outputs of a layer for the positions that read (b, t, h) states."""
    attention = layer.attention.self
    n_heads = attention.num_attention_heads
    context, _ = ALL_ATTENTION_FUNCTIONS[SDPA](
        attention,
        _by_head(attention.query(reading), n_heads),
        _by_head(attention.key(states), n_heads),
        _by_head(attention.value(states), n_heads),
        seen,
        scaling=attention.scaling,
    )
    attended = _added(layer.attention.output, context.flatten(-2), reading)
    wide = layer.intermediate.dense(attended)
    return _added(layer.output, _activated(layer.intermediate, wide), attended)


def _added(end: _HalfEnd, states: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
    """Return the end of half a layer; without gradients nothing is copied for the sum."""
    projected = end.dense(states)
    summed = projected + residual if torch.is_grad_enabled() else projected.add_(residual)
    normalised: torch.Tensor = end.LayerNorm(summed)
    return normalised


def _activated(intermediate: _Intermediate, states: torch.Tensor) -> torch.Tensor:
    """Return activations, in place of the states where no gradient needs these."""
    activate = intermediate.intermediate_act_fn
    is_gelu = isinstance(activate, GELUActivation) and activate.act is F.gelu
    activated: torch.Tensor
    if is_gelu and not torch.is_grad_enabled():
        activated = torch.ops.aten.gelu_(states)
    else:
        activated = activate(states)
    return activated


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
            if model.config.model_type in ENCODERS:
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
