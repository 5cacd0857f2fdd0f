"""Tokens that a model reads: its limits, and requirements on its tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, cast

import numpy as np

from exparity.core.errors import InputError
from exparity.models.placement import is_spread, present
from exparity.types import SPECIAL_WORD, IntArray, Text

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from exparity.models.lookup import Table

MOST_UNKNOWN = 0.2
"""Share of the data's tokens that may be the unknown one."""


def check_vocabulary(
    name: str | None, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast
) -> None:
    """Refuse a tokenizer with ids that the model has no embeddings for, or none for new words."""
    from tokenizers.models import WordLevel, WordPiece

    highest = max(tokenizer.get_vocab().values())
    size = input_table(name, model).weight.shape[0]
    core = tokenizer.backend_tokenizer.model
    if isinstance(core, WordPiece | WordLevel) and core.token_to_id(core.unk_token) is None:
        raise InputError(
            f"checkpoint {name}: its tokenizer.json names {core.unk_token} for unknown words, and "
            "its vocabulary has no such token; correct unk_token there"
        )
    if highest >= size:
        raise InputError(
            f"checkpoint {name}: its tokenizer has ids up to {highest} and the model embeddings "
            f"for {size} tokens; save the tokenizer that the model was trained with beside it"
        )


def input_table(name: str | None, model: PreTrainedModel) -> Table:
    """Return a model's table of input embeddings; refuse one without a row a token (CANINE)."""
    try:
        return cast("Table", model.get_input_embeddings())
    except NotImplementedError as error:
        raise InputError(
            f"checkpoint {name}: has no table with an embedding for each token; take a model of a "
            "family that docs/models.md lists"
        ) from error


def unknown_id(tokenizer: PreTrainedTokenizerFast) -> int | None:
    """Return the id of unknown tokens, also of a tokenizer whose settings do not name it."""
    if tokenizer.unk_token_id is not None:
        return int(tokenizer.unk_token_id)
    backend = getattr(tokenizer, "backend_tokenizer", None)  # a function of texts has none
    core = getattr(backend, "model", None)
    name = getattr(core, "unk_token", None)
    return None if core is None or name is None else core.token_to_id(name)


def check_known(tokenizer: PreTrainedTokenizerFast, unknown: int, total: int) -> None:
    """Refuse a tokenizer that does not know enough of the data."""
    if unknown > MOST_UNKNOWN * total:
        stand_in = tokenizer.convert_ids_to_tokens(unknown_id(tokenizer) or 0)
        raise InputError(
            f"the tokenizer does not know {unknown} of {total} tokens of the texts ({stand_in}), "
            f"more than {MOST_UNKNOWN:.0%}; take the model's own tokenizer, or a model for this "
            "language and script"
        )


def check_pairs(tokenizer: PreTrainedTokenizerFast, where: str) -> None:
    """Refuse a pair of texts where a tokenizer puts nothing between them."""
    around_text = tokenizer.num_special_tokens_to_add(pair=False)
    around_pair = tokenizer.num_special_tokens_to_add(pair=True)
    if around_pair <= around_text:
        raise InputError(
            f"{where}: is a pair, and the model's tokenizer puts nothing between two texts; join "
            "them to one as the model was trained to read them"
        )


def token_types(model: PreTrainedModel) -> torch.Tensor | None:
    """Return the (k, h) table of a model with k > 1 token types; None for other models."""
    for name, module in model.named_modules():
        if name.endswith("token_type_embeddings"):
            with present(module) if is_spread(model) else nullcontext():
                table: torch.Tensor = module.weight
            return table if len(table) > 1 else None
    return None


def input_limit(model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> int:
    """Return the longest input in tokens, special ones included."""
    import torch

    limit = getattr(model.config, "max_position_embeddings", None) or 0
    limit = limit if limit > 0 else 1_000_000  # XLNet says -1
    for module in model.modules():
        # Tables of positions have a row for each position; RoBERTa skips those up to its padding.
        if not isinstance(module, torch.nn.Embedding) or module is model.get_input_embeddings():
            continue
        if module.num_embeddings == limit and module.padding_idx is not None:
            limit -= module.padding_idx + 1
            break
    longest = tokenizer.model_max_length
    is_number = isinstance(longest, int | float) and not isinstance(longest, bool)
    if not is_number or not longest >= 1:
        name = model.config.name_or_path or type(model).__name__
        raise InputError(
            f"checkpoint {name}: its tokenizer has the model_max_length {longest!r}; write the "
            "longest input in tokens into tokenizer_config.json"
        )
    return int(min(limit, longest))


def words_of_tokens(
    offsets: Sequence[Sequence[int]], special: Sequence[int], text: Text
) -> IntArray:
    """Assign each token to the word that its first visible character lies in: (t,), −1 if special.

    Characters decide, so that it works for every family, and for words that hold blanks.
    """
    string = text.string
    ends = [end for _, end in text.spans]
    places = [
        0 if mark else min(first_visible(string, *span), len(string) - 1)
        for span, mark in zip(offsets, special, strict=True)
    ]
    owners = np.minimum(np.searchsorted(ends, places, side="right"), max(len(ends) - 1, 0))
    return np.where(special, SPECIAL_WORD, owners)


def first_visible(string: str, start: int, end: int) -> int:
    """Return the place of the first character of a span that is no blank, or of its last one."""
    while start < end - 1 and string[start].isspace():
        start += 1
    return start


def few_of(lengths: Sequence[int]) -> list[int]:
    """Return the places of the shortest, a middle and the longest text, to try a model with."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    return list(dict.fromkeys((order[0], order[len(order) // 2], order[-1])))
