"""Model and tokenizer from loaded objects: a pair, or a pipeline of transformers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from exparity.core.errors import InputError, shown

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

ZERO_SHOT = "zero-shot-classification"
_TASKS = ("text-classification", "sentiment-analysis", "text-generation", ZERO_SHOT)
_FORMS = (
    "model must be a checkpoint's folder or Hub id, a pair (model, tokenizer), a pipeline of "
    "transformers for text classification or generation, a function of a list of texts, or a "
    "classifier from exparity.load_classifier"
)


def is_function(source: object) -> bool:
    """Return whether an object can only be a function of texts: a callable that is no model."""
    is_model = isinstance(source, type) or hasattr(source, "parameters") or hasattr(source, "task")
    return callable(source) and not is_model


class Objects(NamedTuple):
    """Contents of a pair or a pipeline; nothing is copied.

    Attributes:
        model: the model of transformers, with its adapters in place.
        tokenizer: its fast tokenizer.
        outermost: what a caller runs: the model, or the one of peft around it.
    """

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    outermost: torch.nn.Module


def objects_of(source: Any) -> Objects:
    """Return the objects of a pair or a pipeline."""
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    if isinstance(source, PreTrainedModel):
        raise InputError(f"{type(source).__name__} without its tokenizer; give (model, tokenizer)")
    parts = (source.model, source.tokenizer) if getattr(source, "task", None) in _TASKS else source
    if not isinstance(parts, tuple) or len(parts) != 2:
        raise InputError(f"{_FORMS}, not {shown(source)}")
    outermost, tokenizer = parts
    model = _within_peft(outermost)
    if not isinstance(model, PreTrainedModel):
        raise InputError(f"{_FORMS}, not {shown(model)}")
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise InputError(
            f"the tokenizer must be a fast one of transformers, not {shown(tokenizer)}"
        )
    return Objects(model, tokenizer, outermost)


def _within_peft(model: Any) -> Any:
    """Return the model of transformers in one of peft, which holds its adapters in its layers.

    Those of prompts do not lie there: they are put before each text.
    """
    from transformers import PreTrainedModel

    if isinstance(model, PreTrainedModel) or not hasattr(model, "peft_config"):
        return model
    for config in model.peft_config.values():
        if getattr(config, "is_prompt_learning", False):
            kind = getattr(config.peft_type, "value", config.peft_type)
            raise InputError(
                f"{type(model).__name__}: its adapter is of type {kind}, which puts a trained "
                "prompt before each text; take one of type LORA, or give a function of texts: "
                "load_classifier(predict, classes=[...])"
            )
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model.model
    return inner if isinstance(inner, PreTrainedModel) else model


class PipelineSettings(NamedTuple):
    """Settings of a pipeline that change the input of its model; None if not set."""

    max_length: int | None = None
    hypothesis: str | None = None
    candidate_labels: list[str] | None = None


_WITHOUT_EFFECT = frozenset(
    # These change neither the input of the model nor its probabilities.
    ("truncation", "padding", "top_k", "_legacy", "return_all_scores", "multi_label")
)


def settings_of(source: Any) -> PipelineSettings:
    """Return the settings of a pipeline; refuse others that change its results."""
    task = getattr(source, "task", None)
    if task not in _TASKS or task == "text-generation":
        return PipelineSettings()
    params = {**source._preprocess_params, **source._forward_params, **source._postprocess_params}
    config = source.model.config
    function = params.pop("function_to_apply", None) or getattr(config, "function_to_apply", None)
    name = getattr(function, "value", function)
    several = config.problem_type == "multi_label_classification" or config.num_labels == 1
    usual = "sigmoid" if several else "softmax"
    if name not in (None, usual):
        raise InputError(
            f"pipeline: function_to_apply '{name}' makes other numbers than the probabilities of "
            f"this model ({usual}); leave it out"
        )
    settings = PipelineSettings(
        max_length=params.pop("max_length", None),
        hypothesis=params.pop("hypothesis_template", None),
        candidate_labels=params.pop("candidate_labels", None),
    )
    for key in params.keys() - _WITHOUT_EFFECT:
        raise InputError(f"pipeline: {key}={params[key]!r} is not known here; leave it out")
    return settings
