"""Layers of BERT and RoBERTa run one by one, without what cannot reach the output.

A classification head reads one position of the last layer. There, only keys and values of the other
positions count; their queries, outputs and feed-forward layers do not. What is left out is never
read, so that outputs and gradients differ by rounding alone. In a small model, what transformers
does around each layer takes as long as the layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, cast

import torch
from torch import nn
from torch.nn import functional as F
from transformers.activations import GELUActivation
from transformers.modeling_outputs import SequenceClassifierOutput
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

if TYPE_CHECKING:
    from transformers import PreTrainedModel

SDPA = "sdpa"
"""Name of torch's attention among those that models of transformers take."""
_CLASSES = ("BertForSequenceClassification", "RobertaForSequenceClassification")


class _HalfEnd(Protocol):
    """End of half a layer: its product is added to what the half read, and normalised."""

    dense: nn.Module
    dropout: nn.Module
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
    dropout: nn.Dropout
    num_attention_heads: int
    scaling: float
    training: bool


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
    """A classifier of a known class; RoBERTa's head has a dropout of its own."""

    base_model: _Base
    dropout: nn.Module
    classifier: nn.Module


def refusal(model: PreTrainedModel) -> str | None:
    """Return why a model's layers cannot be run here; None for a known class of transformers."""
    model_class = type(model)
    is_of_transformers = model_class.__module__.startswith("transformers.models.")
    if not (is_of_transformers and model_class.__name__ in _CLASSES):
        return (
            f"not available for models of class {model_class.__name__}, only for transformers' "
            f"{', '.join(_CLASSES)}; leave them off"
        )
    if model.config.is_decoder:
        return "not available for models that look back alone (is_decoder); leave them off"
    return None


def encoder_logits(
    model: PreTrainedModel, mask: torch.Tensor | None, **inputs: torch.Tensor
) -> torch.Tensor:
    """Return the (b, c) logits of a classifier that :func:`refusal` lets through.

    Args:
        model: the classifier, which may be in training.
        mask: (b, t) 0 for padding, which is at the end; None where there is none.
        inputs: what its embeddings take: (b, t) ``input_ids`` or (b, t, h) ``inputs_embeds``, and
            (b, t) ``token_type_ids`` if there are several types.
    """
    classifier = cast("_EncoderClassifier", model)
    base = classifier.base_model
    seen = None if mask is None else mask.bool()[:, None, None]
    states = base.embeddings(**inputs)
    *layers, last = base.encoder.layer
    for layer in layers:
        states = _run_layer(layer, states, states, seen)
    pooled = _run_layer(last, states[:, :1], states, seen)
    if base.pooler is not None:
        pooled = classifier.dropout(base.pooler(pooled))
    logits: torch.Tensor = classifier.classifier(pooled)
    return logits


def training_pass(
    model: PreTrainedModel,
    *,
    input_ids: torch.Tensor,
    attention_mask: torch.Tensor,
    labels: torch.Tensor,
    **token_types: torch.Tensor,
) -> SequenceClassifierOutput:
    """Return what a classifier that :func:`refusal` lets through returns in training.

    Dropout draws for what is computed alone.

    Args:
        model: the classifier.
        input_ids: (b, t) tokens, padded at the end.
        attention_mask: (b, t) 0 for padding.
        labels: (b,) classes.
        token_types: (b, t) ``token_type_ids``, if there are several types.
    """
    mask = None if attention_mask.all() else attention_mask
    logits = encoder_logits(model, mask, input_ids=input_ids, **token_types)
    return SequenceClassifierOutput(loss=F.cross_entropy(logits, labels), logits=logits)


def _run_layer(
    layer: _Layer, reading: torch.Tensor, states: torch.Tensor, seen: torch.Tensor | None
) -> torch.Tensor:
    """Return the (b, q, h) outputs of a layer for the positions that read (b, t, h) states."""
    attention = layer.attention.self
    n_heads = attention.num_attention_heads
    context, _ = ALL_ATTENTION_FUNCTIONS[SDPA](
        attention,
        by_head(attention.query(reading), n_heads),
        by_head(attention.key(states), n_heads),
        by_head(attention.value(states), n_heads),
        seen,
        dropout=attention.dropout.p if attention.training else 0.0,
        scaling=attention.scaling,
    )
    attended = _added(layer.attention.output, context.flatten(-2), reading)
    wide = layer.intermediate.dense(attended)
    return _added(layer.output, _activated(layer.intermediate, wide), attended)


def by_head(states: torch.Tensor, n_heads: int) -> torch.Tensor:
    """Return (b, t, h) states as (b, heads, t, h / heads)."""
    return states.view(*states.shape[:2], n_heads, -1).transpose(1, 2)


def _added(end: _HalfEnd, states: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
    """Return the end of half a layer; without gradients nothing is copied for the sum."""
    projected = end.dropout(end.dense(states))
    # Mixed precision adds to numbers that have more digits, and keeps these.
    in_place = not torch.is_grad_enabled() and projected.dtype == residual.dtype
    summed = projected.add_(residual) if in_place else projected + residual
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
