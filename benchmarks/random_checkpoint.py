"""Write a randomly initialised classifier of the size of a model of the catalogue, for measuring.

Usage: python benchmarks/random_checkpoint.py FOLDER --model ID

Nothing is downloaded. Its tokenizer has as many tokens as the published one, each a made-up word.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING

import torch

from exparity.models.catalogue import known_models
from exparity.models.checkpoints import quiet_transformers
from exparity.models.scratch import random_model, train_tokenizer
from exparity.models.spec import ModelSpec

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

LABELS = ("female", "male")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", choices=known_models(), required=True)
    arguments = parser.parse_args()
    write_checkpoint(arguments.folder, arguments.model, {})


def write_checkpoint(folder: Path, id: str, size: Mapping[str, int]) -> None:
    """Write the classifier and its tokenizer; ``size`` has what is not as published."""
    model, tokenizer = random_classifier(id, size)
    with quiet_transformers():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    # transformers 4, which ferret needs, knows the class by its former name alone.
    settings = folder / "tokenizer_config.json"
    entries = {**json.loads(settings.read_text()), "tokenizer_class": "PreTrainedTokenizerFast"}
    settings.write_text(json.dumps(entries, indent=2) + "\n")


def random_classifier(
    id: str, size: Mapping[str, int]
) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """Return a random classifier of a model of the catalogue, the same in every call."""
    known = known_models()[id]
    shape = {**known.shape, **size}
    vocabulary = int(shape.pop("vocab_size")) + known.added_tokens
    spec = ModelSpec(init="scratch", architecture=known.architecture, size=shape)
    tokenizer = _tokenizer(spec, vocabulary)
    torch.manual_seed(0)
    return random_model(spec, tokenizer, LABELS), tokenizer


def _tokenizer(spec: ModelSpec, size: int) -> PreTrainedTokenizerFast:
    """Return a tokenizer of ``size`` tokens that has the special tokens of the architecture."""
    from tokenizers import models

    tokenizer = train_tokenizer(spec, ["a"])
    space = "Ġ" if spec.architecture in ("gpt2", "roberta") else ""  # as bytes have it
    vocabulary = {token: tokenizer.get_vocab()[token] for token in tokenizer.all_special_tokens}
    special = len(vocabulary)
    vocabulary |= {space + word(index): special + index for index in range(size - special)}
    unknown = tokenizer.unk_token or tokenizer.eos_token
    tokenizer.backend_tokenizer.model = models.WordLevel(vocabulary, unk_token=unknown)
    return tokenizer


def word(index: int) -> str:
    """Return a made-up word: one token of every tokenizer of more than ``index`` such tokens."""
    return "".join(ascii_lowercase[index // 26**place % 26] for place in (3, 2, 1, 0))


if __name__ == "__main__":
    main()
