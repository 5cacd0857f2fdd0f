"""Fine-tuning of a classifier: it is built, its texts are encoded, and it is trained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import torch

from exparity.core.errors import InputError
from exparity.core.seeding import derive_seed
from exparity.core.undisturbed import undisturbed
from exparity.data.training_set import TrainingSet
from exparity.models.checkpoints import build_model
from exparity.models.encoders import refusal, training_pass
from exparity.models.heads import Head, head_of
from exparity.models.inputs import (
    check_known,
    check_pairs,
    few_of,
    input_limit,
    token_types,
    unknown_id,
)
from exparity.models.loop import EpochRecord, Item, TrainingLoop
from exparity.models.lora import add_adapters, merge_adapters
from exparity.models.placement import Placement, is_spread
from exparity.models.prompts import TEXT, Prompt, PromptSpec, encode_prompt
from exparity.models.schemes import apply_scheme
from exparity.models.snapshots import StateFolder
from exparity.models.spec import ModelSpec, TrainingSpec
from exparity.models.team import Team
from exparity.types import Example, Text

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast


Check = Callable[
    ["PreTrainedModel", "PreTrainedTokenizerFast", Sequence[str | tuple[str, str]]], None
]
"""Refuses a model, by a few texts, before it is trained."""


@dataclass(frozen=True)
class Trained:
    """A fine-tuned classifier with its tokenizer, its history and its head."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    history: list[EpochRecord]
    head: Head


@undisturbed()
def finetune(
    training_set: TrainingSet,
    model_spec: ModelSpec,
    training: TrainingSpec,
    *,
    state: StateFolder,
    device: str = "auto",
    prompt: PromptSpec | None = None,
    templates: Sequence[str] = (),
    check: Check | None = None,
    team: Team | None = None,
    placement: Placement | None = None,
    train_together: Callable[[], None] | None = None,
) -> Trained:
    """Fine-tune a classifier.

    Args:
        training_set: what it is trained on.
        model_spec: where its weights come from.
        training: settings of the training.
        state: its snapshots.
        device: where it is trained.
        prompt: how a prompted model is asked.
        templates: templates that a prompted model is trained with; its own if empty.
        check: gets the model and its tokenizer with a few texts, before anything is trained.
        placement: where weights go that are not trained; on one device if None.
        team: all processes of the training; this one alone if None.
        train_together: trains in other processes, whose last snapshot this one goes on from.
    """
    examples = training_set.examples
    seed = training_set.seed
    if training.epochs or model_spec.init == "scratch":
        _require_classes(training_set)
    torch.manual_seed(derive_seed(seed, "finetune", "weights"))
    specs = _trained_prompts(prompt, templates)
    texts = _texts_read(training_set, specs if model_spec.init == "scratch" else [])
    is_trained = training.epochs > 0
    model, tokenizer = build_model(
        model_spec, training_set.labels, texts, trained=is_trained, placement=placement
    )
    head = head_of(model.config)
    if check is not None and prompt is None and is_trained:
        few = few_of([len(example.all_words) for example in examples])
        check(model, tokenizer, [texts[place] for place in few])
    if prompt is not None:
        head.bind(prompt, tokenizer)
    if is_trained:
        _check_adapters(training, prompt)
        _check_shortcuts(training, model)
        apply_scheme(model, model_spec.scheme)
    adapted = add_adapters(model, training.lora) if training.lora and is_trained else None
    tokenizer.model_max_length = min(
        input_limit(model, tokenizer), training.max_length or tokenizer.model_max_length
    )
    trained = head.trained(model, scratch=model_spec.init == "scratch")
    if is_spread(model):  # which moves to no single device
        return Trained(model, tokenizer, [], head)
    _check_divisible(training, trained)
    if train_together is not None and is_trained:
        train_together()
    forward = partial(training_pass, model) if training.shortcuts else None
    loop = TrainingLoop(trained, tokenizer, training, seed, state, device, team, forward)
    history = _fit(loop, training_set, _encoder(model, tokenizer, specs, seed))
    model = model if adapted is None else merge_adapters(adapted)
    return Trained(model, tokenizer, history, head)


def _trained_prompts(prompt: PromptSpec | None, templates: Sequence[str]) -> list[PromptSpec]:
    """Return the prompts that a model is trained with: one for each template, or its own."""
    if prompt is None:
        return []
    return [prompt.model_copy(update={"template": t}) for t in templates] or [prompt]


def _texts_read(
    training_set: TrainingSet, answered: Sequence[PromptSpec]
) -> Sequence[str | tuple[str, str]]:
    """Return the texts that a model reads: the examples', or each in these prompts, answered."""
    if not answered:
        return [example.pair or example.text for example in training_set.examples]
    return [
        spec.template.replace(TEXT, example.text) + spec.words[training_set.labels[example.label]]
        for example in training_set.examples
        for spec in answered
    ]


def _check_adapters(training: TrainingSpec, prompt: PromptSpec | None) -> None:
    """Refuse adapters under a new head, which would stay random."""
    if training.lora and prompt is None:
        raise InputError(
            "training.lora: would leave a new classification head as it is; take head: "
            "label_words, or train the weights"
        )


def _check_shortcuts(training: TrainingSpec, model: PreTrainedModel) -> None:
    """Refuse shortcuts of a model whose layers are not known."""
    why = refusal(model) if training.shortcuts else None
    if why is not None:
        raise InputError(f"training.shortcuts: {why}")


def _check_divisible(training: TrainingSpec, trained: torch.nn.Module) -> None:
    """Refuse several processes for a loss that is no mean over examples."""
    if training.processes > 1 and not getattr(trained, "divisible", True):
        raise InputError(
            "training.processes: the loss of this model's batch is no mean over its examples, so "
            "that it cannot be trained in parts; leave it out"
        )


def _fit(
    loop: TrainingLoop,
    training_set: TrainingSet,
    encode: Callable[[Sequence[Example]], list[Item]],
) -> list[EpochRecord]:
    """Train on weighted examples to the end, and return the history."""
    weighted = zip(encode(training_set.examples), training_set.weights.tolist(), strict=True)
    items = [item._replace(weight=weight) for item, weight in weighted]
    history = loop.fit(items, encode(training_set.held_out), training_set.per_epoch)
    loop.finish()
    return history


def _encoder(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    specs: Sequence[PromptSpec],
    seed: int,
) -> Callable[[Sequence[Example]], list[Item]]:
    """Return what encodes examples: as plain texts, or in prompts where there are any."""
    if specs:
        prompts = [Prompt.of(spec, tokenizer) for spec in specs]
        return partial(_prompted, tokenizer, prompts, seed)
    return partial(_encode, tokenizer, typed=token_types(model) is not None)


def _prompted(
    tokenizer: PreTrainedTokenizerFast,
    prompts: Sequence[Prompt],
    seed: int,
    examples: Sequence[Example],
) -> list[Item]:
    """Return the items of examples, each matched set in one of the prompts."""
    items = []
    for example in examples:
        if example.pair is not None:
            raise InputError(f"example '{example.example_id}': is a pair; a prompt takes one text")
        owner = example.match_id or example.example_id
        prompt = prompts[derive_seed(seed, "finetune", "template", owner) % len(prompts)]
        text = Text.of(example.text)
        (encoding,) = encode_prompt(tokenizer, prompt, [text], tokenizer.model_max_length)
        items.append(Item(encoding.token_ids.tolist(), example.label))
    return items


def _require_classes(training_set: TrainingSet) -> None:
    """Refuse training examples of a single class."""
    labels = {example.label for example in training_set.examples}
    if len(labels) < 2:
        raise InputError(
            f"dataset {training_set.dataset}: its training examples have {len(labels)} labels, and "
            "a classifier needs two; bring others, or take a checkpoint as it is, with training: "
            "{epochs: 0}"
        )


def _encode(
    tokenizer: PreTrainedTokenizerFast, examples: Sequence[Example], *, typed: bool
) -> list[Item]:
    """Return the items of examples; ``typed`` is for models with several token types."""
    if not examples:
        return []
    for example in examples:
        if example.pair is not None:
            check_pairs(tokenizer, f"example '{example.example_id}'")
    encoded = tokenizer(
        [e.pair or e.text for e in examples], truncation=True, return_special_tokens_mask=True
    )
    token_ids = encoded["input_ids"]
    tokens = chain(*token_ids)
    special = chain(*encoded["special_tokens_mask"])
    content = [token for token, mark in zip(tokens, special, strict=True) if not mark]
    check_known(tokenizer, content.count(unknown_id(tokenizer)), len(content))
    types = encoded.get("token_type_ids") if typed else None
    items = []
    for place, example in enumerate(examples):
        token_types = types[place] if types and example.pair else None
        items.append(Item(token_ids[place], example.label, token_types=token_types))
    return items
