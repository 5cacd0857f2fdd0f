"""Fine-tuning through accelerate: AdamW, linear schedule with warm-up, resumable by epoch.

Epoch order and dropout depend on (seed, epoch) alone, so that a training continued from a snapshot
ends with the same weights as one that was never interrupted.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from exparity.core.errors import InputError
from exparity.core.seeding import derive_seed
from exparity.data.table import PreparedData, sample
from exparity.interface import Example
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


def split_validation(
    examples: Sequence[Example], share: float
) -> tuple[list[Example], list[Example]]:
    """Split off whole matched sets for validation: (training, validation)."""
    held = (
        {e.example_id for e in sample(examples, round(share * len(examples)))} if share else set()
    )
    return (
        [e for e in examples if e.example_id not in held],
        [e for e in examples if e.example_id in held],
    )


def finetune(
    data: PreparedData,
    model_spec: ModelSpec,
    training: TrainingSpec,
    *,
    seed: int,
    state: StateFolder,
    device: str = "auto",
) -> Trained:
    """Fine-tune a classifier on a dataset's training split.

    Args:
        data: the prepared dataset.
        model_spec: where weights and tokenizer come from.
        training: hyperparameters.
        seed: seed of initialisation, order and dropout.
        state: where unfinished work is kept.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:1``.

    Returns:
        The classifier in evaluation mode on the CPU, its tokenizer and the history.

    Raises:
        InputError: the training split has one class only, or the model cannot be built or does
            not know the data's words.
        ExparityError: the training diverges.
    """
    import torch

    examples, held_out = split_validation(data.split("train"), training.validation_share)
    if len({e.label for e in examples}) < 2:
        raise InputError(
            f"dataset {data.dataset}: all training examples have the label "
            f"{examples[0].label}; a classifier needs two classes"
        )
    torch.manual_seed(derive_seed(seed, "finetune", "weights"))
    model, tokenizer = build_model(
        model_spec, data.labels, [e.text for e in examples], trained=training.epochs > 0
    )
    if training.epochs:
        apply_scheme(model, model_spec.scheme)
    tokenizer.model_max_length = min(
        input_limit(model, tokenizer), training.max_length or tokenizer.model_max_length
    )
    run = TrainingLoop(model, tokenizer, training, seed, state, device)
    history = run.fit(_encode(tokenizer, examples), _encode(tokenizer, held_out))
    return Trained(run.finished_model(), tokenizer, history)


def _encode(tokenizer: PreTrainedTokenizerFast, examples: Sequence[Example]) -> list[Item]:
    if not examples:
        return []
    encoded = tokenizer(
        [e.text for e in examples], truncation=True, return_special_tokens_mask=True
    )
    content = [
        token
        for ids, mask in zip(encoded["input_ids"], encoded["special_tokens_mask"], strict=True)
        for token, special in zip(ids, mask, strict=True)
        if not special
    ]
    check_known(tokenizer, content.count(tokenizer.unk_token_id), len(content))
    return list(zip(encoded["input_ids"], (e.label for e in examples), strict=True))
