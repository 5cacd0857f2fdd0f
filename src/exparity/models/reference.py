"""Checkpoints that refer to the model that they are of, instead of copying its weights."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from exparity.core.errors import InputError
from exparity.models.manifest import read_record
from exparity.models.spec import ModelSpec

REFERENCE = "base.json"
_READ = ("*.json", "*.safetensors", "*.model", "*.jinja", "*.txt")
_ENDS = 1 << 20  # bytes of each end of a file: weights may be of many gigabytes


class Reference(NamedTuple):
    """The model that a checkpoint refers to."""

    checkpoint: str  # folder or Hub id
    revision: str | None  # commit of the Hub repository; None of a folder
    max_length: int  # longest input in tokens
    # digest of the files of a folder, by their names, sizes and both ends; None of the Hub
    digest: str | None


def write_reference(folder: Path, spec: ModelSpec, config: Any, max_length: int) -> None:
    """Have a folder refer to the model of a spec."""
    source = str(spec.checkpoint)
    if Path(source).is_dir():
        made = Reference(str(Path(source).resolve()), None, max_length, _digest(Path(source)))
    else:
        made = Reference(source, config._commit_hash, max_length, None)
    (folder / REFERENCE).write_text(json.dumps(made._asdict(), indent=1) + "\n", encoding="utf-8")


def read_reference(folder: Path) -> Reference | None:
    """Return the model that a folder refers to; None if it holds one itself."""
    base = read_record(folder, REFERENCE, Reference)
    if base is not None and base.digest is not None:
        source = Path(base.checkpoint)
        if not source.is_dir():
            raise InputError(f"checkpoint {folder}: is of {source}, which is no longer there")
        if _digest(source) != base.digest:
            raise InputError(
                f"checkpoint {folder}: is of {source}, which has changed since; delete {folder} "
                "and run again"
            )
    return base


def _digest(folder: Path) -> str:
    """Return the digest of the files that a model is loaded from."""
    digest = hashlib.sha256()
    for path in sorted({path for pattern in _READ for path in folder.glob(pattern)}):
        size = path.stat().st_size
        with path.open("rb") as file:
            start = file.read(_ENDS)
            file.seek(max(0, size - _ENDS))
            digest.update(f"{path.name} {size}\n".encode() + start + file.read(_ENDS))
    return digest.hexdigest()
