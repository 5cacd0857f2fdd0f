"""Fine-tuning through accelerate: AdamW, linear schedule with warm-up, resumable by epoch.

Epoch order and dropout depend on (seed, epoch) alone, so that a training continued from a snapshot
ends with the same weights as one that was never interrupted.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from exparity.core.errors import InputError
from exparity.core.seeding import derive_seed
from exparity.data.training_set import TrainingSet
from exparity.interface import Example, FloatArray
from exparity.models._loop import EpochRecord, Item, TrainingLoop
from exparity.models.checkpoints import build_model, check_known, input_limit
from exparity.models.schemes import apply_scheme
from exparity.models.snapshots import StateFolder
from exparity.models.spec import ModelSpec, TrainingSpec

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Trained:
    """A fine-tuned classifier with its tokenizer and history."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    history: list[EpochRecord]


def finetune(
    training_set: TrainingSet,
    model_spec: ModelSpec,
    training: TrainingSpec,
    *,
    state: StateFolder,
    device: str = "auto",
) -> Trained:
    """Fine-tune a classifier.

    Args:
        training_set: examples and weights, what validates, and the seed of initialisation, order
            and dropout.
        model_spec: where weights and tokenizer come from.
        training: hyperparameters.
        state: where unfinished work is kept.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:1``.

    Returns:
        The classifier in evaluation mode on the CPU, its tokenizer and the history.

    Raises:
        InputError: all examples are of one class, or the model cannot be built or does not know
            the data's words.
        ExparityError: the training diverges.
    """
    import torch

    examples, seed = training_set.examples, training_set.seed
    if len({e.label for e in examples}) < 2:
        raise InputError(
            f"dataset {training_set.dataset}: all training examples have the label "
            f"{examples[0].label}; a classifier needs two classes"
        )
    torch.manual_seed(derive_seed(seed, "finetune", "weights"))
    model, tokenizer = build_model(
        model_spec, training_set.labels, [e.text for e in examples], trained=training.epochs > 0
    )
    if training.epochs:
        apply_scheme(model, model_spec.scheme)
    tokenizer.model_max_length = min(
        input_limit(model, tokenizer), training.max_length or tokenizer.model_max_length
    )
    loop = TrainingLoop(model, tokenizer, training, seed, state, device)
    items = _encode(tokenizer, examples, training_set.weights)
    held_out = _encode(tokenizer, training_set.held_out)
    history = loop.fit(items, held_out, training_set.per_epoch)
    return Trained(loop.finished_model(), tokenizer, history)


def _encode(
    tokenizer: PreTrainedTokenizerFast,
    examples: Sequence[Example],
    weights: FloatArray | None = None,
) -> list[Item]:
    if not examples:
        return []
    encoded = tokenizer(
        [e.text for e in examples], truncation=True, return_special_tokens_mask=True
    )
    tokens, special = chain(*encoded["input_ids"]), chain(*encoded["special_tokens_mask"])
    content = [token for token, mark in zip(tokens, special, strict=True) if not mark]
    check_known(tokenizer, content.count(tokenizer.unk_token_id), len(content))
    factors = [1.0] * len(examples) if weights is None else weights.tolist()
    return [
        Item(token_ids, example.label, example.example_id, example.group, weight)
        for token_ids, example, weight in zip(encoded["input_ids"], examples, factors, strict=True)
    ]
