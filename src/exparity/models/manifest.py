"""Manifests: the origin of a folder, and digests of its files, which reveal damage.

Checkpoints of exparity have one, and so do snapshots of unfinished trainings. A checkpoint from
elsewhere has none, and is loaded unchecked.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from exparity.artefacts.lineage import MANIFEST, sha256_of
from exparity.core.errors import InputError
from exparity.models.spec import ModelSpec

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

Record = TypeVar("Record")
_REFERENCE = "base.json"
_ENDS = 1 << 20  # bytes of each end of a file: each job looks, and weights may have many gigabytes


class DamageError(ValueError):
    """A file of a folder with a manifest is missing, altered or unreadable."""


@contextmanager
def saving(folder: Path) -> Iterator[None]:
    """Raise an OSError with the folder's name if its disk does not take a file.

    Libraries in Rust raise their own exceptions, with the system's error in the text.
    """
    try:
        yield
    except Exception as error:
        in_text = re.search(r"\(os error (\d+)\)", str(error))
        number = error.errno if isinstance(error, OSError) else in_text and int(in_text[1])
        if not number:
            raise
        raise OSError(number, os.strerror(number), str(folder)) from error


def sync(*paths: Path) -> None:
    """Wait until files, or the names in folders, are on the disk."""
    for path in paths:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_manifest(path: Path, facts: Mapping[str, object]) -> None:
    """Write facts and the digests of all other files of the folder, and wait for the disk."""
    folder = path.parent
    files = [file for file in sorted(folder.rglob("*")) if file.is_file() and file != path]
    digests = {
        file.relative_to(folder).as_posix(): sha256_of(file)
        for file in files
        if file.suffix != ".parquet"  # which has a seal, and the time in it
    }
    contents = {**facts, "files": digests}
    path.write_text(json.dumps({**contents, "digest": _digest(contents)}, indent=1) + "\n")
    sync(*files, path, folder)


def read_manifest(path: Path) -> dict[str, Any]:
    """Return the facts of a manifest, and the digests as ``files``."""
    try:
        contents: dict[str, Any] = json.loads(path.read_bytes())
        digest = contents.pop("digest")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DamageError(f"{path.name} is unreadable") from error
    if digest != _digest(contents):
        raise DamageError(f"{path.name} is altered")
    return contents


def read_verified(path: Path) -> dict[str, Any]:
    """Read a manifest as :func:`read_manifest` does; refuse a folder whose files have changed."""
    contents = read_manifest(path)
    for name, digest in contents["files"].items():
        try:
            altered = sha256_of(path.parent / name) != digest
        except OSError as error:
            problem = "missing" if isinstance(error, FileNotFoundError) else "unreadable"
            raise DamageError(f"{name} is {problem}") from error
        if altered:
            raise DamageError(f"{name} is altered")
    return contents


def read_record(folder: Path, name: str, kind: Callable[..., Record]) -> Record | None:
    """Return the facts in a file of a checkpoint's folder; None if there is no such file."""
    path = folder / name
    if not path.is_file():
        return None
    try:
        return kind(**json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise InputError(f"checkpoint {folder}: {name} is damaged; run again") from error


def write_record(folder: Path, name: str, facts: Mapping[str, object]) -> None:
    """Write a file of a checkpoint's folder, for :func:`read_record`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def require_intact(folder: Path) -> dict[str, str]:
    """Return the digests of an intact checkpoint by name; none for one from elsewhere."""
    path = (folder / MANIFEST).resolve()
    if not path.is_file():
        return {}
    try:
        return _digests(path, frozenset((f, f.lstat().st_mtime_ns) for f in path.parent.iterdir()))
    except DamageError as error:
        raise InputError(
            f"checkpoint {folder}: {error}; delete the folder and run again"
        ) from error


@cache
def _digests(path: Path, times: frozenset[tuple[Path, int]]) -> dict[str, str]:
    return dict(read_verified(path)["files"])


def _digest(contents: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest()


class Reference(NamedTuple):
    """The model that a checkpoint refers to."""

    checkpoint: str  # folder or Hub id
    revision: str | None  # commit of the Hub repository; None of a folder
    max_length: int  # longest input in tokens
    digest: str | None  # of a folder, by its files' names, sizes and ends; None of the Hub


def write_reference(
    folder: Path, spec: ModelSpec, config: PreTrainedConfig, max_length: int
) -> None:
    """Write a reference to the model of a spec into a folder."""
    source = str(spec.checkpoint)
    commit: str | None = config._commit_hash
    digest = None
    if (local := Path(source)).is_dir():
        source = str(local.resolve())
        commit = None
        digest = _digest_of_ends(local)
    write_record(folder, _REFERENCE, Reference(source, commit, max_length, digest)._asdict())


def read_reference(folder: Path) -> Reference | None:
    """Return the model that a folder refers to; None if it holds one itself."""
    base = read_record(folder, _REFERENCE, Reference)
    if base is not None and base.digest is not None:
        source = Path(base.checkpoint)
        if not source.is_dir() or _digest_of_ends(source) != base.digest:
            raise InputError(
                f"checkpoint {folder}: refers to {source}, which has changed since or is no longer "
                f"there; delete {folder} and run again"
            )
    return base


def _digest_of_ends(folder: Path) -> str:
    """Return a digest of the names, sizes and ends of a folder's files; a plan reads them whole."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        size = path.stat().st_size
        with path.open("rb") as file:
            digest.update(f"{path.name} {size}\n".encode() + file.read(_ENDS))
            file.seek(max(0, size - _ENDS))
            digest.update(file.read(_ENDS))
    return digest.hexdigest()
