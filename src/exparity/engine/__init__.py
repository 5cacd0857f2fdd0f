"""The engine: the one place that runs a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from exparity.core.calls import checked

if TYPE_CHECKING:
    from exparity.engine.classifier import Classifier


@checked
def load_classifier(
    checkpoint: str | Path,
    device: str = "auto",
    precision: str = "fp32",
    *,
    revision: str | None = None,
    max_length: int | None = None,
    token_budget: int | None = None,
    shortcuts: bool = False,
) -> Classifier:
    """Load a fine-tuned sequence classifier.

    Args:
        checkpoint: folder or Hub id, with safetensors weights and a fast tokenizer.
        device: ``auto`` (the first GPU if there is one), ``cpu``, ``cuda`` or ``cuda:N``.
        precision: ``fp32`` or ``bf16`` (weights in bfloat16; probabilities still in float32).
        revision: commit of a Hub repository.
        max_length: longest input in tokens; longer texts are cut. The model's limit if None.
        token_budget: padded tokens per batch; a measured default for the device if None.
        shortcuts: leave out work of the last layer that cannot reach the output; faster, with
            probabilities that differ by rounding alone. Known for BERT, RoBERTa, GPT-2
            and OLA.

    Returns:
        A classifier for :func:`exparity.explain` and :func:`exparity.evaluate`.

    Raises:
        InputError: the checkpoint is missing, damaged, not a classifier, asks for code of its own
            or has weights that would be random, or a bad argument.
    """
    from exparity.core.device import resolve_device
    from exparity.core.errors import InputError
    from exparity.engine.classifier import Classifier
    from exparity.models.checkpoints import (
        check_vocabulary,
        input_limit,
        load_model,
        load_tokenizer,
    )

    dtypes: dict[str, Any] = {"fp32": "float32", "bf16": "bfloat16"}
    if precision not in dtypes:
        raise InputError(f"precision '{precision}': use fp32 or bf16")
    target = resolve_device(device)
    model = load_model(str(checkpoint), revision, dtype=dtypes[precision])
    tokenizer = load_tokenizer(str(checkpoint), revision)
    check_vocabulary(str(checkpoint), model, tokenizer)
    limit = input_limit(model, tokenizer)
    if max_length is not None:
        if not 1 <= max_length <= limit:
            raise InputError(f"max_length {max_length}: the model takes 1 to {limit} tokens")
        limit = max_length
    if token_budget is not None and token_budget < 1:
        raise InputError(f"token_budget {token_budget}: give 1 token or more")
    return Classifier(
        model,
        tokenizer,
        device=target,
        max_length=limit,
        token_budget=token_budget,
        shortcuts=shortcuts,
    )
