"""Classifiers from what users have at hand: a folder, a Hub id, a pair of objects, a pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from exparity.core.calls import shown
from exparity.core.device import resolve_device
from exparity.core.errors import InputError
from exparity.engine.classifier import Classifier, load_classifier
from exparity.models.checkpoints import check_vocabulary, input_limit

_FORMS = (
    "a checkpoint's folder or Hub id, a pair (model, tokenizer), a text-classification pipeline of "
    "transformers, or a classifier from exparity.load_classifier"
)


def classifier_of(model: Any, device: str = "auto") -> Classifier:
    """Return the classifier behind whatever form it is given in.

    A model object is used as it is, not copied: it is put on the device, and its dropout is
    switched off.

    Args:
        model: a folder or Hub id; a pair of a transformers model for sequence classification and
            its fast tokenizer; a text-classification pipeline; or a classifier, which is returned.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``; objects stay where they are if ``auto``.

    Raises:
        InputError: it is none of these, or not usable as a classifier.
    """
    if isinstance(model, Classifier):
        return model
    if isinstance(model, str | Path):
        return load_classifier(model, device)
    parts = model if isinstance(model, tuple) else _parts_of_pipeline(model)
    if len(parts) != 2:
        raise InputError(f"model must be {_FORMS}, not {shown(model)}")
    return _of_objects(*parts, device)


def _parts_of_pipeline(pipeline: Any) -> tuple[Any, ...]:
    if getattr(pipeline, "task", None) not in ("text-classification", "sentiment-analysis"):
        return ()
    return pipeline.model, pipeline.tokenizer


def _of_objects(model: Any, tokenizer: Any, device: str) -> Classifier:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    if not isinstance(model, PreTrainedModel):
        raise InputError(f"model must be {_FORMS}, not {shown(model)}")
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise InputError(
            f"the tokenizer must be a fast one of transformers, not {shown(tokenizer)}"
        )
    if "ForSequenceClassification" not in type(model).__name__:
        raise InputError(
            f"{type(model).__name__} has no classification head; load the model with "
            "AutoModelForSequenceClassification"
        )
    check_vocabulary(model.config.name_or_path or type(model).__name__, model, tokenizer)
    place = model.device if device == "auto" else resolve_device(device)
    return Classifier(model, tokenizer, device=place, max_length=input_limit(model, tokenizer))
