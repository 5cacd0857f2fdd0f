"""Causal language models that answer a prompt with one word for each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from exparity.core.errors import InputError
from exparity.models.heads import ClassifierConfig, Head, head
from exparity.models.lookup import (
    EmbeddedBatch,
    Table,
    is_encoder_decoder,
    run_model,
    run_on_embeddings,
)
from exparity.models.manifest import read_record, write_record
from exparity.models.prompts import Prompt, PromptSpec, absent_token, label_tokens

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

_FILE = "label_words.json"


class _Facts(NamedTuple):
    """Contents of the file beside the weights."""

    spec: dict[str, Any]
    prompt: dict[str, Any]
    token_ids: list[int]
    absent_id: int | None
    bias: list[float]


@head(
    "label_words",
    auto="AutoModelForCausalLM",
    prompted=True,
    display="Label words",
    reference="Zhao et al. 2021, arXiv:2102.09690, section 2",
)
class LabelWords(Head):
    """The next-token logits of one word for each class, at the end of a prompt.

    Attributes:
        spec: the prompt and its words.
        token_ids: the first token of each class's word.
        bias: offset of each logit, from calibration.
    """

    answers_freely = True
    spec: PromptSpec
    token_ids: list[int]
    bias: list[float]

    def bind(self, spec: PromptSpec, tokenizer: PreTrainedTokenizerFast) -> None:
        """See :meth:`Head.bind`."""
        prompt = Prompt.of(spec, tokenizer)
        self.absent_id = absent_token(tokenizer, spec.absent)
        self.token_ids = label_tokens(tokenizer, prompt, spec.words)
        self.spec = spec
        self.prompt = prompt
        self.bias = [0.0] * len(spec.words)

    def write(self, folder: Path) -> None:
        """See :meth:`Head.write`."""
        assert self.prompt is not None
        facts = _Facts(
            self.spec.all_values, asdict(self.prompt), self.token_ids, self.absent_id, self.bias
        )
        write_record(folder, _FILE, facts._asdict())

    def read(self, folder: Path) -> None:
        """See :meth:`Head.read`."""
        facts = read_record(folder, _FILE, _Facts)
        if facts is None:
            raise InputError(f"checkpoint {folder}: has no {_FILE}; give `prompt` and `words`")
        self.spec = PromptSpec(**facts.spec)
        self.prompt = Prompt(**facts.prompt)
        self.token_ids = facts.token_ids
        self.bias = facts.bias
        self.absent_id = facts.absent_id

    def require(
        self, name: str, config: ClassifierConfig, labels: Sequence[str] | None = None
    ) -> None:
        """See :meth:`Head.require`."""
        architectures = config.architectures or []
        if architectures and not any(
            a.endswith(("ForCausalLM", "LMHeadModel")) for a in architectures
        ):
            raise InputError(
                f"checkpoint {name}: is not a causal language model (it holds "
                f"{', '.join(architectures)}), whose next word could name a class; take one, or "
                "head: sequence"
            )

    def require_model(self, model: PreTrainedModel) -> None:
        """See :meth:`Head.require_model`."""
        has_words = model.get_output_embeddings() is not None and model.base_model is not model
        if not has_words or is_encoder_decoder(model):
            raise InputError(
                f"{type(model).__name__} gives no next word; load the model with "
                "AutoModelForCausalLM"
            )

    def class_names(self, config: ClassifierConfig) -> tuple[str, ...]:
        """See :meth:`Head.class_names`."""
        return tuple(self.spec.words)

    def logits(self, model: PreTrainedModel, batch: EmbeddedBatch) -> torch.Tensor:
        """See :meth:`Head.logits`."""
        hidden = _last_hidden(model, batch)
        table = cast("Table", model.get_output_embeddings())
        ids = self.token_ids
        weight = table.weight
        # A matrix product may round a row otherwise in other company; a sum of its own does not.
        products = hidden.to(weight.device).float()[:, None] * weight[ids].float()
        logits: torch.Tensor = products.sum(-1)
        if getattr(table, "bias", None) is not None:
            logits = logits + table.bias[ids].float()
        return _settled(model, logits) + logits.new_tensor(self.bias)

    def mass(self, model: PreTrainedModel, batch: EmbeddedBatch) -> torch.Tensor:
        """See :meth:`Head.mass`."""
        probabilities = _of_vocabulary(model, _last_hidden(model, batch)).softmax(-1)
        mass: torch.Tensor = probabilities[:, self.token_ids].sum(-1)
        return mass

    def plain_logits(self, model: PreTrainedModel, **inputs: torch.Tensor) -> torch.Tensor:
        """See :meth:`Head.plain_logits`."""
        logits: torch.Tensor = run_model(model, **inputs).logits[:, -1, self.token_ids].float()
        return logits + logits.new_tensor(self.bias)

    def trained(self, model: PreTrainedModel, *, scratch: bool) -> torch.nn.Module:
        """See :meth:`Head.trained`.

        The loss is the cross entropy of the label's word over the whole vocabulary, so that the
        model also learns to answer in these words; a model from scratch learns all next tokens.
        """
        import torch
        from torch.nn.functional import cross_entropy
        from transformers.modeling_outputs import SequenceClassifierOutput

        token_ids = torch.tensor(self.token_ids)

        class Trained(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.model = model
                self.divisible = not scratch  # texts of next tokens count by their length

            def forward(
                self, input_ids: torch.Tensor, attention_mask: torch.Tensor, labels: torch.Tensor
            ) -> SequenceClassifierOutput:
                base = self.model.base_model
                ids = token_ids.to(input_ids.device)
                hidden = base(
                    input_ids=input_ids, attention_mask=attention_mask, use_cache=False
                ).last_hidden_state
                last = attention_mask.sum(1) - 1
                rows = torch.arange(len(last), device=last.device)
                answers = _of_vocabulary(self.model, hidden[rows, last])
                losses = cross_entropy(answers, ids[labels], reduction="none")
                if scratch:
                    is_text = attention_mask[:, 1:].bool()
                    words = _of_vocabulary(self.model, hidden[:, :-1])[is_text]
                    token_losses = cross_entropy(words, input_ids[:, 1:][is_text])
                    losses = losses + token_losses
                output = SequenceClassifierOutput(loss=losses.mean(), logits=answers[:, ids])
                output["losses"] = losses
                return output

        return Trained()


def _last_hidden(model: PreTrainedModel, batch: EmbeddedBatch) -> torch.Tensor:
    """Return the (b, h) last hidden states of the texts' last tokens."""
    import torch

    body = cast("PreTrainedModel", model.base_model)
    hidden = run_on_embeddings(body, batch).last_hidden_state
    places = torch.arange(len(batch.last), device=hidden.device)
    rows: torch.Tensor = hidden[places, batch.last.to(hidden.device)]
    return rows


def _of_vocabulary(model: PreTrainedModel, hidden: torch.Tensor) -> torch.Tensor:
    """Return the logits of all words at hidden states."""
    table = cast("Table", model.get_output_embeddings())
    return _settled(model, table(hidden.to(table.weight.device)).float())


def _settled(model: PreTrainedModel, logits: torch.Tensor) -> torch.Tensor:
    """Return logits with the scale and the cap of the configuration."""
    config = model.config.get_text_config()
    logits = logits * (getattr(config, "logit_scale", None) or 1.0)  # Cohere
    logits = logits / (getattr(config, "logits_scaling", None) or 1.0)  # Granite
    cap = getattr(config, "final_logit_softcapping", None)  # Gemma
    return logits if cap is None else (logits / cap).tanh() * cap
