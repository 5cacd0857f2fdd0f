"""Classifiers with a classification head of transformers, ``…ForSequenceClassification``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from exparity.core.errors import InputError
from exparity.models.class_names import in_order_of_outputs, output_names
from exparity.models.heads import Head, head, run_model

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel


@head(
    "sequence",
    auto="AutoModelForSequenceClassification",
    display="Classification head",
    reference="https://huggingface.co/docs/transformers/tasks/sequence_classification",
)
class SequenceHead(Head):
    """A layer of one logit for each class on the pooled, first or last token."""

    def require(self, name: str, config: Any, labels: Sequence[str] | None = None) -> None:
        """See :meth:`Head.require`."""
        architectures = config.architectures or []
        if not any(a.endswith("ForSequenceClassification") for a in architectures):
            held = ", ".join(architectures) or "no architecture"
            remedy = "fine-tune it first, with `exparity finetune` or transformers"
            if any(a.endswith("ForCausalLM") for a in architectures):
                remedy = (
                    "ask a language model with prompt= and words= (in a config: `head: "
                    f"label_words` and `prompts`), or {remedy}"
                )
            raise InputError(
                f"checkpoint {name}: is not a sequence classifier (it holds {held}); {remedy}"
            )
        _check_outputs(f"checkpoint {name}", config)
        if labels is not None and config.num_labels != len(labels):
            raise InputError(
                f"checkpoint {name}: has {config.num_labels} classes and the data {len(labels)}; "
                "with 0 epochs its head would be random; train it, or bring data with its classes"
            )
        outputs = output_names(config.id2label)
        if labels is None or outputs is None:
            return
        order = in_order_of_outputs(outputs, labels, f"checkpoint {name}")
        if order != tuple(labels):
            raise InputError(
                f"checkpoint {name}: its classes are {', '.join(outputs)}, in this order, and "
                f"those of the data {', '.join(labels)}; put the data's in the same order (of a "
                "table: `labels`)"
            )

    def require_model(self, model: PreTrainedModel) -> None:
        """See :meth:`Head.require_model`."""
        if "ForSequenceClassification" not in type(model).__name__:
            raise InputError(
                f"{type(model).__name__} has no classification head; load the model with "
                "AutoModelForSequenceClassification, or ask a language model with prompt= and "
                "words="
            )
        _check_outputs(model.config.name_or_path or type(model).__name__, model.config)

    def logits(
        self,
        model: PreTrainedModel,
        embeddings: torch.Tensor,
        mask: torch.Tensor | None,
        last: torch.Tensor,
    ) -> torch.Tensor:
        """See :meth:`Head.logits`."""
        import torch

        # transformers names the head of models that pool the last token `score`.
        score: Any = getattr(model, "score", None)
        if score is None:
            return super().logits(model, embeddings, mask, last)
        # Such heads look for the last token in token ids, which are not there.
        hidden = run_model(
            model.base_model, inputs_embeds=embeddings, attention_mask=mask, use_cache=False
        ).last_hidden_state
        pooled = (last - self.trailing_pads).clamp(min=0)
        rows = torch.arange(len(last), device=hidden.device)
        logits: torch.Tensor = score(hidden[rows, pooled])
        return logits


def _check_outputs(where: str, config: Any) -> None:
    """Refuse outputs that are not the classes of one choice."""
    if config.num_labels < 2:
        raise InputError(f"{where}: has {config.num_labels} class; two are needed")
    if config.problem_type not in (None, "single_label_classification"):
        raise InputError(
            f"{where}: its problem_type is {config.problem_type}, whose outputs are not classes "
            "of which a text has one; take a classifier of single labels, or correct problem_type "
            "in config.json if it is one"
        )
