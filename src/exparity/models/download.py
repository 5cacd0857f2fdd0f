"""Checkpoints from the Hub into its local cache, for machines that will have no network."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from exparity.core.errors import InputError
from exparity.models.spec import ModelSpec

SHAPE_FILES = (
    *("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"),
    *("added_tokens.json", "vocab.txt", "vocab.json", "merges.txt", "*.model"),
)
"""Configuration and tokenizer. Nothing that is code or a pickle is ever fetched."""

WEIGHT_FILES = ("model.safetensors", "model.safetensors.index.json", "model-*.safetensors")


def fetch_checkpoint(spec: ModelSpec) -> tuple[Path, bool]:
    """Return the folder in the Hub's cache with what a model needs, and whether it was missing."""
    from huggingface_hub import snapshot_download

    name = spec.checkpoint
    assert name is not None
    patterns = [*SHAPE_FILES, *(WEIGHT_FILES if spec.init == "pretrained" else ())]
    snapshot = partial(snapshot_download, name, revision=spec.revision, allow_patterns=patterns)

    # The Hub's errors share no base class, and some are those of its HTTP client.
    with _quiet_hub():
        try:
            missing = _lacks(Path(str(snapshot(local_files_only=True))), spec) is not None
        except Exception:
            missing = True
        try:
            folder = Path(str(snapshot(local_files_only=False)))
        except Exception as error:
            reason = (str(error).strip() or "no reason given").splitlines()[0]
            raise InputError(
                f"checkpoint {spec.source}: could not be fetched ({type(error).__name__}: {reason})"
            ) from error
    lack = _lacks(folder, spec)
    if lack is not None:
        raise InputError(f"checkpoint {spec.source}: {lack}")
    return folder, missing


@contextmanager
def _quiet_hub() -> Iterator[None]:
    """Keep the Hub's client from telling every retry, several lines each; the outcome is enough."""
    import huggingface_hub.utils  # sets the level of its logger

    logger = logging.getLogger(huggingface_hub.__name__)
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def _lacks(folder: Path, spec: ModelSpec) -> str | None:
    """Return what a snapshot lacks to be a model, as the end of a message; None if nothing."""
    if not (folder / "config.json").is_file():
        return "has no config.json, so it is not a model"
    if spec.init == "pretrained" and not any((folder / name).is_file() for name in WEIGHT_FILES):
        return (
            "has no weights in safetensors, and others are not read; name a revision that has "
            "them, such as the pull request with its conversion (refs/pr/N)"
        )
    return None
