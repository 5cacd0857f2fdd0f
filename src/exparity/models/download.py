"""Checkpoints of the Hub in its local cache, downloaded where they are missing."""

from __future__ import annotations

from contextlib import suppress
from logging import ERROR
from pathlib import Path

SHAPE_FILES = (
    *("config.json", "generation_config.json", "adapter_config.json", "added_tokens.json"),
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "*.jinja"),
    *("vocab.txt", "vocab.json", "merges.txt", "*.model"),
)
"""Configuration and tokenizer. Nothing that is code or a pickle is ever fetched."""

WEIGHT_FILES = ("model.safetensors", "model.safetensors.index.json", "model-*.safetensors")


def cached_folder(name: str, revision: str | None) -> Path | None:
    """Return the folder in the Hub's cache with a model's configuration; None if there is none."""
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(name, "config.json", revision=revision)
    return Path(found).parent if isinstance(found, str) else None


def has_weights(folder: Path) -> bool:
    """Return whether a folder has weights in safetensors."""
    return any((folder / name).is_file() for name in WEIGHT_FILES)


def snapshot_of(name: str, revision: str | None, *, weights: bool) -> Path:
    """Return the folder in the Hub's cache with a model's files; what it lacks is downloaded.

    Of a model that the cache does not have, the Hub is asked once: a download would ask a Hub that
    does not answer for minutes. Errors are those of its client.
    """
    from huggingface_hub import errors, get_hf_file_metadata, hf_hub_url, snapshot_download
    from huggingface_hub.utils import logging

    if cached_folder(name, revision) is None:
        with suppress(errors.EntryNotFoundError):
            get_hf_file_metadata(hf_hub_url(name, "config.json", revision=revision))
    patterns = [*SHAPE_FILES, *(WEIGHT_FILES if weights else ())]
    before = logging.get_verbosity()
    logging.set_verbosity(ERROR)  # of every retry it says several lines
    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=patterns))
    finally:
        logging.set_verbosity(before)
