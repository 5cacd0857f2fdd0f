"""Run any model of transformers on given embeddings.

Many models take no ``inputs_embeds``, or compute something else from them: they look at token ids
for the token to pool, for positions, or to shift a text into a decoder. Here every model gets token
ids, and its table of embeddings returns the given rows for them. Ids are places in the batch,
counted from the end of the vocabulary, so that a row is found wherever the model moves its id.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from exparity.models.placement import state_of

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

_NOTHING = -1
"""Id of padding in models without one."""


class Frame(NamedTuple):
    """Special tokens that a tokenizer puts around every text, as far as models look at their ids.

    Attributes:
        pads: tokens at the end that the model takes for padding. Models that pool the last token
            look for the last one that is no padding, and a tokenizer that pads with the end of text
            may end every text with it.
        behind: tokens behind the last end of text, which encoder-decoders pool; None without one.
        types: types of the tokens before and behind a text; None where the tokenizer gives none, or
            the embeddings hold them.
    """

    pads: int = 0
    behind: int | None = None
    types: tuple[list[int], list[int]] | None = None

    @classmethod
    def of(
        cls, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, *, typed: bool
    ) -> Frame:
        """Return the frame of a tokenizer's texts; ``typed`` models get token types as such."""
        encoded = tokenizer("a", return_special_tokens_mask=True)
        ids: list[int] = encoded["input_ids"]
        special: list[int] = encoded["special_tokens_mask"]
        padding = getattr(model.config, "pad_token_id", None)
        backwards = ids[::-1]
        pads = next((n for n, token in enumerate(backwards) if token != padding), len(ids))
        end = getattr(model.config, "eos_token_id", None)
        ends = (n for n, token in enumerate(backwards) if token == end)
        types = None
        parameters = parameters_of(type(model).forward)
        if typed and "token_type_ids" in encoded and "token_type_ids" in parameters:
            first = special.index(0) if 0 in special else len(ids)
            last = special[::-1].index(0) if 0 in special else 0
            token_types = encoded["token_type_ids"]
            types = token_types[:first], token_types[len(ids) - last :]
        return cls(pads, next(ends, None), types)


class Outputs(Protocol):
    """What is read of a model's outputs.

    Attributes:
        logits: those of a model with a head.
        last_hidden_state: (b, t, h) states of the part below the head.
    """

    logits: torch.Tensor
    last_hidden_state: torch.Tensor


class Table(Protocol):
    """What is read of a model's table of embeddings, or of its layer that names words."""

    weight: torch.Tensor
    bias: torch.Tensor

    def __call__(self, inputs: torch.Tensor) -> torch.Tensor:
        """Look up rows, or name words."""


class EmbeddedBatch(NamedTuple):
    """A batch of texts as embeddings.

    Attributes:
        embeddings: (b, t, h) input embeddings, padded at the end.
        mask: (b, t) 0 for padding; None where there is none.
        last: (b,) position of the last token that is no padding.
    """

    embeddings: torch.Tensor
    mask: torch.Tensor | None
    last: torch.Tensor


def run_on_embeddings(
    model: PreTrainedModel, batch: EmbeddedBatch, frame: Frame | None = None
) -> Outputs:
    """Return outputs by name of a model, or its part below the head, of embeddings."""
    import torch

    frame = frame or Frame()
    embeddings, mask, last = batch
    count, width = embeddings.shape[:2]
    table = model.get_input_embeddings()
    config = model.config
    places = torch.arange(count * width, device=embeddings.device).reshape(count, width)
    ids = places + n_rows(table)
    ends = last.to(embeddings.device)[:, None]
    settings: dict[str, object] = {}
    if is_encoder_decoder(model) and frame.behind is not None:
        # A model pools the token with this id: each text has its own.
        settings["eos_token_id"] = ids.gather(1, (ends - frame.behind).clamp(min=0))
    padding = getattr(_text_config(config), "pad_token_id", None)
    padding = _NOTHING if padding is None else padding
    ids = ids.masked_fill((places[:1] > ends - frame.pads) & (places[:1] > 0), padding)
    inputs: dict[str, object] = {"input_ids": ids, "attention_mask": mask}
    if frame.types is not None:
        inputs["token_type_ids"] = _types(ids, ends, *frame.types)
    if "use_cache" in parameters_of(type(model).forward):
        inputs["use_cache"] = False
    with (
        with_values(config, settings),
        with_values(_text_config(config), {"pad_token_id": padding}),
        replaced(_answering(model, ids, embeddings)),
    ):
        return run_model(model, **inputs)


def run_model(model: PreTrainedModel, **inputs: object) -> Outputs:
    """Return a model's outputs by name, also if its configuration asks for tuples."""
    # The argument ``return_dict`` would reach the model, and not the parts that it calls.
    with with_values(model.config, {"return_dict": True}):
        outputs: Outputs = model(**inputs)
    return outputs


@cache
def parameters_of(forward: Callable[..., object]) -> Mapping[str, Parameter]:
    """Return the parameters of the forward pass of a class of models."""
    return signature(forward).parameters


def is_encoder_decoder(model: PreTrainedModel) -> bool:
    """Return whether a model reads a text twice, by an encoder and by a decoder."""
    return bool(getattr(model.config, "is_encoder_decoder", False))


def n_rows(table: torch.nn.Module) -> int:
    """Return the number of tokens in a table of embeddings."""
    return len(cast("Table", table).weight)


def _text_config(config: object) -> object:
    return config.get_text_config() if hasattr(config, "get_text_config") else config


def _types(
    ids: torch.Tensor, ends: torch.Tensor, before: list[int], behind: list[int]
) -> torch.Tensor:
    """Return (b, t) token types of texts with these special tokens around them."""
    types = ids.new_zeros(ids.shape)
    for place, type_of_it in enumerate(before[: ids.shape[1]]):
        types[:, place] = type_of_it
    for place, type_of_it in enumerate(reversed(behind)):
        types.scatter_(1, (ends - place).clamp(min=0), type_of_it)
    return types


@contextlib.contextmanager
def with_values(owner: object, values: Mapping[str, object]) -> Iterator[None]:
    """Within the context, attributes of an object have these values, unchecked."""
    attributes = vars(owner)
    before = {name: attributes[name] for name in values if name in attributes}
    attributes.update(values)
    try:
        yield
    finally:
        for name in values:
            del attributes[name]
        attributes.update(before)


@contextlib.contextmanager
def replaced(forwards: Mapping[Any, Callable[..., object]]) -> Iterator[None]:
    """Within the context, modules run these functions as their forward passes."""
    before = {module: vars(module).get("forward") for module in forwards}
    for module, forward in forwards.items():
        module.forward = forward
    try:
        yield
    finally:
        for module, instance_forward in before.items():
            if instance_forward is None:
                del module.forward  # the class's own shows again
            else:
                module.forward = instance_forward


def _answering(
    model: PreTrainedModel, ids: torch.Tensor, embeddings: torch.Tensor
) -> dict[torch.nn.Module, Callable[..., object]]:
    """Return forwards with which a model's tables of embeddings return the rows of places."""
    import torch

    table = model.get_input_embeddings()
    size = n_rows(table)
    rows = embeddings.flatten(0, 1)
    tables = [table]
    if is_encoder_decoder(model):  # whose sides may each have one
        same = (part for part in model.modules() if isinstance(part, type(table)))
        tables = [part for part in same if part.weight.shape == table.weight.shape]

    def answering(look_up: Callable[..., Any]) -> Callable[..., object]:
        def forward(looked_up_ids: torch.Tensor, *more: object, **options: object) -> object:
            is_batch = (
                looked_up_ids.data_ptr() == ids.data_ptr() and looked_up_ids.shape == ids.shape
            )
            if is_batch and isinstance(table, torch.nn.Embedding):
                return embeddings.clone()  # some models write into what they get
            answer = look_up(looked_up_ids.clamp(0, size - 1), *more, **options)
            looked_up, *others = answer if isinstance(answer, tuple) else (answer,)
            places = (looked_up_ids - size).to(rows.device)
            in_batch = rows[places.clamp(min=0)].to(looked_up.device)
            result = torch.where((places >= 0).to(looked_up.device)[..., None], in_batch, looked_up)
            return (result, *others) if isinstance(answer, tuple) else result

        return forward

    return {part: answering(part.forward) for part in tables}


def not_finite(model: torch.nn.Module) -> list[str]:
    """Return the names of weights with a value that is not finite."""
    # The ends of a tensor take a fifteenth of the time of `isfinite`, which makes copies.
    return [
        name
        for name, weight in state_of(model)
        if weight.numel() and not all(end.isfinite() for end in weight.aminmax())
    ]
