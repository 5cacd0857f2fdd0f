"""Model and tokenizer from what users have at hand: a pair of objects, or a pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exparity.core.calls import shown
from exparity.core.errors import InputError

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

ZERO_SHOT = "zero-shot-classification"
_TASKS = ("text-classification", "sentiment-analysis", "text-generation", ZERO_SHOT)
_FORMS = (
    "model must be a checkpoint's folder or Hub id, a pair (model, tokenizer), a pipeline of "
    "transformers for text classification or generation, or a classifier from "
    "exparity.load_classifier"
)


def objects_of(given: Any) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """Return the model and the tokenizer of a pair or a pipeline; neither is copied.

    Args:
        given: a pair of a model of transformers, or of peft, and its fast tokenizer, or a pipeline
            for text classification, text generation or zero-shot classification.

    Raises:
        InputError: it is none of these, or not usable as a classifier.
    """
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    if isinstance(given, PreTrainedModel):
        raise InputError(f"{type(given).__name__} without its tokenizer; give (model, tokenizer)")
    parts = given if isinstance(given, tuple) else _parts_of_pipeline(given)
    if len(parts) != 2:
        raise InputError(f"{_FORMS}, not {shown(given)}")
    model, tokenizer = parts
    if hasattr(model, "peft_config") and not isinstance(model, PreTrainedModel):
        model = model.get_base_model()  # in which the adapters are in place
    if not isinstance(model, PreTrainedModel):
        raise InputError(f"{_FORMS}, not {shown(model)}")
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise InputError(
            f"the tokenizer must be a fast one of transformers, not {shown(tokenizer)}"
        )
    return model, tokenizer


def _parts_of_pipeline(pipeline: Any) -> tuple[Any, ...]:
    if getattr(pipeline, "task", None) not in _TASKS:
        return ()
    return pipeline.model, pipeline.tokenizer
