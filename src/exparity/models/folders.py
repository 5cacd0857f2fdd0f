"""Folders and Hub ids of checkpoints: checks of their files, and where these lie.

No code from checkpoints is run, and an error of transformers about a bad file becomes one line.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import re
from collections.abc import Iterator
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path

from exparity.core.errors import InputError, reason_of
from exparity.core.hub import hub_problem
from exparity.models.functions import source_of
from exparity.models.lora import base_of, is_adapter, with_base
from exparity.models.manifest import require_intact
from exparity.models.spec import ModelSpec

SHAPE_FILES = (
    *("config.json", "generation_config.json", "adapter_config.json", "added_tokens.json"),
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "*.jinja"),
    *("vocab.txt", "vocab.json", "merges.txt", "*.model"),
)
"""Configuration and tokenizer. Nothing that is code or a pickle is ever fetched."""
WEIGHT_FILES = ("model.safetensors", "model.safetensors.index.json", "model-*.safetensors")

_SETTINGS = (
    "config.json",
    "tokenizer_config.json",
    "adapter_config.json",
    "model.safetensors.index.json",
)
_REFUSED = {
    "auto_map": "names Python code of its own (auto_map), and no code from checkpoints is run; "
    "load it where you trust it, and save it as a model of transformers",
    "quantization_config": "has quantised weights (quantization_config), which have no gradients; "
    "save it dequantised",
    "configuration_files": "names another file in its place (configuration_files); call that one "
    "config.json",
    "transformers_weights": "names another file for the weights (transformers_weights); call it "
    "model.safetensors",
    "peft_type": "is of an adapter, beside a model; keep the two in folders of their own, and name "
    "one as checkpoint and the other as adapter",
}
"""Entries that a settings file may not hold, at any depth, and what to do about them."""
_ATTENTION = ("eager", "sdpa")
_SENTENCEPIECE = ("sentencepiece", "google", "google.protobuf")
_HUB_ID = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")
_NO_SAFETENSORS = (
    "it has no weights in safetensors; convert them once, as docs/models.md shows, and set "
    "'checkpoint' to the folder, or set 'revision' to one that has them"
)
_NO_NETWORK = (
    "fetch it where there is a network, by `snakemake fetch` with the run's config or `exparity "
    "data fetch --models`, or set 'checkpoint' to a folder"
)


@contextlib.contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence transformers' load reports and bars; its warnings are re-stated where they matter."""
    from transformers.utils import logging as hf_logging

    before = hf_logging.get_verbosity()
    bars = hf_logging.is_progress_bar_enabled()
    hf_logging.set_verbosity_error()
    hf_logging.disable_progress_bar()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        hf_logging.set_verbosity(before)
        if bars:
            hf_logging.enable_progress_bar()


@contextlib.contextmanager
def clear_errors(name: str, revision: str | None = None) -> Iterator[None]:
    """Turn any exception of transformers about a bad file into one line."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        at = f" at revision {revision}" if revision else ""
        reason = reason_of(error)
        if "file named model.safetensors" in reason:
            reason = _NO_SAFETENSORS
        raise InputError(f"checkpoint {name}{at}: cannot be loaded: {reason}") from error


def check_checkpoint(name: str, folder: Path | None = None) -> None:
    """Refuse what is no checkpoint, or asks for code; ``folder`` holds the files of a Hub id."""
    path = Path(name)
    folder = folder or path
    if is_adapter(folder):
        base, _ = base_of(folder)
        if is_adapter(Path(base)):
            raise InputError(f"checkpoint {path}: is an adapter of an adapter; merge the first")
        check_checkpoint(base)
    elif folder.is_dir():
        _check_links(name, folder)
        for file in filter(Path.is_file, map(folder.joinpath, _SETTINGS)):
            check = partial(check_entries, f"checkpoint {name}: {file.name}")
            with clear_errors(name):
                json.loads(file.read_text(encoding="utf-8-sig"), object_hook=check)
        if not (folder / "config.json").is_file():
            raise InputError(f"checkpoint {path}: has no config.json, so it is not a model folder")
        models = sorted(path.name for path in folder.glob("*.model"))
        in_sentencepiece = models and not (folder / "tokenizer.json").is_file()
        if in_sentencepiece and not all(map(find_spec, _SENTENCEPIECE)):
            raise InputError(
                f"checkpoint {name}: keeps its tokenizer in {models[0]}; reading that needs "
                "pip install 'exparity[sentencepiece]'"
            )
    elif path.is_file() or not _HUB_ID.fullmatch(name):
        raise InputError(f"checkpoint {path}: no such folder")


def _check_links(name: str, folder: Path) -> None:
    """Refuse a folder whose files are links to what is gone, as in a cache that was cleaned up."""
    for file in sorted(folder.iterdir()):
        needed = any(map(file.match, (*SHAPE_FILES, *WEIGHT_FILES)))
        if needed and file.is_symlink() and not file.exists():
            raise InputError(
                f"checkpoint {name}: {file} is a link to {file.readlink()}, which is not there; "
                "put that back, or delete the folder and fetch the model again"
            )


def check_entries(where: str, entries: dict[str, object]) -> dict[str, object]:
    """Return the entries of a settings file; refuse those that ask for code or for other files."""
    for key, reason in _REFUSED.items():
        if entries.get(key):
            raise InputError(f"{where} {reason}")
    for key, value in entries.items():
        if "_implementation" in key and value not in (None, *_ATTENTION):
            raise InputError(
                f"{where} asks for {key} {value!r}, which may be code from the Hub; leave it out, "
                f"or take {' or '.join(_ATTENTION)}"
            )
    shards = entries.get("weight_map")
    for shard in shards.values() if isinstance(shards, dict) else ():
        if not isinstance(shard, str) or Path(shard).name != shard:
            raise InputError(f"{where} names {shard!r}, which is not beside it; move it there")
        if not shard.endswith(".safetensors"):
            raise InputError(
                f"{where} names {shard!r}, which is not in safetensors, and no pickle is opened; "
                "convert it once, as docs/models.md shows"
            )
    return entries


def folder_of(name: str, revision: str | None, *, weights: bool = False) -> Path:
    """Return the checked folder of a checkpoint: itself, or its snapshot in the Hub's cache."""
    folder = Path(name)
    if folder.is_dir():
        require_intact(folder)
    else:
        check_checkpoint(name)
        import huggingface_hub as hub

        try:
            # What is not in the cache is asked for once: a download would retry for minutes.
            if cached_folder(name, revision) is None:
                with contextlib.suppress(hub.errors.EntryNotFoundError):
                    hub.get_hf_file_metadata(hub.hf_hub_url(name, "config.json", revision=revision))
            patterns = [*SHAPE_FILES, *(WEIGHT_FILES if weights else ())]
            path = hub.snapshot_download(
                name,
                revision=revision,
                allow_patterns=patterns,
                # Before huggingface_hub 2, a revision is asked for without a network as well.
                local_files_only=hub.is_offline_mode(),
            )
            folder = Path(path)
        except Exception as error:  # the Hub's share no base class
            at = f" at revision {revision}" if revision else ""
            problem = hub_problem(error, "model", revision, f"correct the name, or {_NO_NETWORK}")
            raise InputError(
                f"checkpoint {name}{at}: there is no folder {name} here, and {problem}"
            ) from error
        if is_adapter(folder):
            raise InputError(
                f"checkpoint {name}: is an adapter; name its base as checkpoint, and a folder with "
                "its files as adapter"
            )
    check_checkpoint(name, folder)
    return folder


def cached_folder(name: str, revision: str | None) -> Path | None:
    """Return the folder in the Hub's cache with a model's configuration; None if there is none."""
    from huggingface_hub import try_to_load_from_cache

    config = try_to_load_from_cache(name, "config.json", revision=revision)
    return Path(config).parent if isinstance(config, str) else None


def own_sources(spec: ModelSpec) -> list[str]:
    """Return the folders of a checkpoint, its adapter and its base, or the file of a function."""
    if spec.predict is not None:
        return [str(source_of(spec.predict))]
    base = with_base(spec.checkpoint)[0] if spec.checkpoint else None
    return [
        p for p in dict.fromkeys((spec.checkpoint, spec.adapter, base)) if p and Path(p).is_dir()
    ]


@cache
def n_weights(checkpoint: str, revision: str | None = None) -> int | None:
    """Return the number of weights of a checkpoint; None where its files are not here."""
    from safetensors import SafetensorError, safe_open

    checkpoint, revision, _ = with_base(checkpoint, revision)
    local = Path(checkpoint)
    folder = local if local.is_dir() else cached_folder(checkpoint, revision)
    count = 0
    try:
        for path in folder.glob("*.safetensors") if folder else ():
            with safe_open(path, framework="np") as file:
                shapes = [file.get_slice(name).get_shape() for name in file.keys()]  # noqa: SIM118
            count += sum(map(math.prod, shapes))
    except (OSError, SafetensorError):
        return None  # the job that loads it names the damage
    return count or None
