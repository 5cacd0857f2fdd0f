"""Raw files of datasets: found in the data folder or downloaded, and always verified."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exparity.artifacts import atomic_path
from exparity.errors import InputError
from exparity.interface import RemoteFile

log = logging.getLogger(__name__)

_FETCH = "; where there is a network, `snakemake fetch` with the run's config gets it"


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class DataSource:
    """Where raw files lie, and where downloads go.

    Attributes:
        folder: the data folder (``data_dir`` in the config).
        download: False to fail instead of using the network.
    """

    folder: Path
    download: bool = True

    def find(self, file: RemoteFile, *, verify: bool = True) -> Path:
        """Return the path of a verified raw file, downloading it if it is missing.

        Args:
            file: which one.
            verify: False to accept a file of another digest, for altered copies of one's own.

        Raises:
            InputError: the file is missing and cannot be downloaded, or its digest differs; gives
                the address, the expected digest and where to put it.
        """
        path = self.folder / file.path
        if not path.is_file():
            if not self.download:
                raise InputError(_advice(path, file, "is missing") + _FETCH)
            _download(file, path)
        if verify:
            found = sha256_of(path)
            if found != file.sha256:
                raise InputError(_advice(path, file, f"is altered (its SHA-256 is {found})"))
        return path


def _advice(path: Path, file: RemoteFile, problem: str) -> str:
    return (
        f"{path.absolute()} {problem}; get {file.url} (SHA-256 {file.sha256}) and put it there, "
        "or set data_dir to the folder that has it"
    )


def _download(file: RemoteFile, path: Path) -> None:
    import requests

    log.info("downloading %s", file.url)
    try:
        with (
            atomic_path(path) as temporary,
            requests.get(file.url, timeout=60, stream=True) as answer,
        ):
            answer.raise_for_status()
            with temporary.open("wb") as out:
                for block in answer.iter_content(1 << 20):
                    out.write(block)
            found = sha256_of(temporary)
            if found != file.sha256:
                raise InputError(_advice(path, file, f"was downloaded altered (SHA-256 {found})"))
    except requests.RequestException as error:
        reason = f"is missing and could not be downloaded ({type(error).__name__})"
        raise InputError(_advice(path, file, reason)) from error


def read_jsonl(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield line number (from 1) and object of each non-blank line.

    Raises:
        InputError: a line is not a JSON object; names file and line.
    """
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            try:
                line = raw.decode("utf-8")
            except UnicodeDecodeError as error:
                raise InputError(f"{path}:{number}: not UTF-8 text ({error.reason})") from None
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise InputError(f"{path}:{number}: not valid JSON ({error})") from None
            if not isinstance(row, dict):
                raise InputError(
                    f"{path}:{number}: expected a JSON object, found {line.strip()[:40]}"
                )
            yield number, row
