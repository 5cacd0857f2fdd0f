"""The one-layer attention model (OLA) of GECOBench, as an architecture of transformers.

Embeddings, one attention layer with one head, a dense layer on the first token, and the output
layer (Wilming et al. 2024, section 2.2 and appendix A.2.1). There are no positions, no norms, no
residual connections and no dropout, so that the order of words cannot reach the output.

Importing this module makes the model type ``ola`` known to transformers' Auto classes. Its
checkpoints hold configuration and safetensors alone.
"""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import nn
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification
from transformers.configuration_utils import PretrainedConfig
from transformers.modeling_outputs import BaseModelOutputWithPooling, SequenceClassifierOutput
from transformers.modeling_utils import PreTrainedModel


class OlaConfig(PretrainedConfig):
    """Shape of an OLA model.

    Attributes:
        vocab_size: rows of the table of embeddings.
        hidden_size: size of embeddings, attention and pooled token.
        pad_token_id: id of padding, whose embedding starts at zero.
    """

    model_type = "ola"

    vocab_size: int = 30522
    hidden_size: int = 64
    pad_token_id: int | None = 0


class OlaPreTrainedModel(PreTrainedModel):
    """Parts that the OLA models share."""

    config_class = OlaConfig
    base_model_prefix = "ola"
    _input_embed_layer = "word_embeddings"

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """Draw weights as torch's own layers do: embeddings N(0, 1), linear layers uniform."""
        if isinstance(module, (nn.Linear, nn.Embedding)):
            module.reset_parameters()


class OlaEmbeddings(nn.Module):
    """The table of word embeddings, without positions."""

    def __init__(self, config: OlaConfig) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(
            config.vocab_size, config.hidden_size, padding_idx=config.pad_token_id
        )

    def forward(
        self, input_ids: torch.Tensor | None = None, inputs_embeds: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Return (b, t, h) embeddings of ids, or ``inputs_embeds`` unchanged."""
        embedded: torch.Tensor = (
            self.word_embeddings(input_ids) if inputs_embeds is None else inputs_embeds
        )
        return embedded


class OlaAttention(nn.Module):
    """Scaled dot-product attention with one head."""

    def __init__(self, config: OlaConfig) -> None:
        super().__init__()
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)
        self.softmax = nn.Softmax(dim=-1)
        self.scaling = config.hidden_size**-0.5

    def forward(
        self,
        hidden_states: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        queries: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Return (b, q, h) attention outputs of (b, q, h) queries over (b, t, h) states.

        Without ``queries``, all states are queries. States with a (b, t) mask of 0 get no weight.
        """
        query = self.query(hidden_states if queries is None else queries)
        scores = query @ self.key(hidden_states).transpose(1, 2) * self.scaling  # (b, q, t)
        if attention_mask is not None:
            padding = attention_mask[:, None, :] == 0
            scores = scores.masked_fill(padding, torch.finfo(scores.dtype).min)
        attended: torch.Tensor = self.softmax(scores) @ self.value(hidden_states)
        return attended


class OlaModel(OlaPreTrainedModel):
    """OLA without its output layer."""

    def __init__(self, config: OlaConfig) -> None:
        super().__init__(config)
        size = config.hidden_size
        self.embeddings = OlaEmbeddings(config)
        self.attention = OlaAttention(config)
        self.pooler = nn.Sequential(OrderedDict(dense=nn.Linear(size, size), activation=nn.Tanh()))
        self.post_init()  # type: ignore[no-untyped-call]

    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        **_: object,
    ) -> BaseModelOutputWithPooling:
        """Return the (b, t, h) output of attention, and the (b, h) pooled first token."""
        attended = self.attention(self.embeddings(input_ids, inputs_embeds), attention_mask)
        return BaseModelOutputWithPooling(
            last_hidden_state=attended, pooler_output=self.pooler(attended[:, 0])
        )


class OlaForSequenceClassification(OlaPreTrainedModel):
    """OLA with an output layer of one logit per class."""

    def __init__(self, config: OlaConfig) -> None:
        super().__init__(config)
        self.num_labels = int(config.num_labels or 0)
        self.ola = OlaModel(config)
        self.classifier = nn.Linear(config.hidden_size, self.num_labels)
        self.post_init()  # type: ignore[no-untyped-call]

    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        **_: object,
    ) -> SequenceClassifierOutput:
        """Return (b, c) logits, and the mean cross entropy if there are (b,) labels.

        The other arguments are those of :meth:`OlaModel.forward`.
        """
        pooled = self.ola(input_ids, attention_mask, inputs_embeds).pooler_output
        logits = self.classifier(pooled)
        loss = None if labels is None else nn.functional.cross_entropy(logits, labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)


AutoConfig.register("ola", OlaConfig, exist_ok=True)
AutoModel.register(OlaConfig, OlaModel, exist_ok=True)
AutoModelForSequenceClassification.register(OlaConfig, OlaForSequenceClassification, exist_ok=True)
