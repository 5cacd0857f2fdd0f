"""Raw files of datasets: found in the data folder or downloaded, and verified."""

from __future__ import annotations

import gzip
import logging
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from exparity.artefacts.files import atomic_path
from exparity.artefacts.lineage import sha256_of
from exparity.core.errors import InputError
from exparity.core.progress import Progress
from exparity.core.strict import parse_json
from exparity.data.facts import RemoteFile
from exparity.resources import resource
from exparity.types import Split

log = logging.getLogger(__name__)

_BLOCK = 1 << 20  # bytes of a download that are held at once

FETCH = "where there is a network, `snakemake fetch` with the run's config gets it"


@dataclass(frozen=True)
class DataSource:
    """The folder of raw files, and whether missing ones may be downloaded to it.

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
            InputError: the file is missing and cannot be downloaded, its digest differs, or there
                is none to compare with; gives the address, the digest and what to do.
        """
        path = self.folder / file.path
        if not path.is_file():
            if file.by_hand:
                raise InputError(_advice(path, file, "is missing"))
            if not self.download:
                raise InputError(f"{_advice(path, file, 'is missing')}; {FETCH}")
            _download(file, path)
        if verify:
            digest = sha256_of(path)
            if file.sha256 is None:
                raise InputError(unverified(path, file, digest))
            if digest != file.sha256:
                advice = _advice(path, file, f"is altered (its SHA-256 is {digest})")
                raise InputError(
                    f"{advice}; {_pin(file, digest)}" if file.can_be_pinned else advice
                )
        return path


def with_digest(file: RemoteFile, sha256: Mapping[str, str] | None) -> RemoteFile:
    """Return a file with the digest that its dataset's option ``sha256`` has for its name."""
    pinned = (sha256 or {}).get(Path(file.path).name)
    return file if pinned is None else replace(file, sha256=pinned.lower())


def published_parts(
    source: DataSource,
    files: Mapping[str, RemoteFile],
    *,
    verify: bool,
    sha256: Mapping[str, str] | None = None,
) -> Iterator[tuple[str, Split, Path]]:
    """Yield each published part, its split and its verified file; what validates is trained on."""
    for part, file in files.items():
        path = source.find(with_digest(file, sha256), verify=verify)
        yield part, "test" if part.startswith("test") else "train", path


@contextmanager
def published_row(where: str) -> Iterator[None]:
    """Name a row of a raw file that cannot be read, as one of an altered copy may be."""
    try:
        yield
    except InputError:
        raise
    except (AttributeError, LookupError, OSError, TypeError, ValueError) as error:
        raise InputError(
            f"{where}: not as in the published file ({type(error).__name__}: {error}); fetch it "
            "again"
        ) from None


def unverified(path: Path, file: RemoteFile, digest: str) -> str:
    """Return what to do about a file whose published digest is not known."""
    return (
        f"{path.absolute()} cannot be verified, since exparity does not know its published "
        f"SHA-256; {_pin(file, digest)}"
    )


def _advice(path: Path, file: RemoteFile, problem: str) -> str:
    member = f"{file.member} of " if file.member else ""
    digest = "" if file.sha256 is None else f" (SHA-256 {file.sha256})"
    how = f", {file.by_hand}," if file.by_hand else ""
    return (
        f"{path.absolute()} {problem}; get {member}{file.url}{digest}{how} and put it there, or "
        "set data_dir to the folder that has it"
    )


def _pin(file: RemoteFile, digest: str) -> str:
    """Return how to accept a digest that exparity does not expect."""
    return (
        f"once you have compared the file with {file.url}, set the dataset's option "
        f"'sha256: {{{Path(file.path).name}: {digest}}}'"
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
            length = answer.headers.get("Content-Length")
            blocks = None if length is None else -(-int(length) // _BLOCK)
            with temporary.open("wb") as out, Progress(blocks, path.name, "MiB") as progress:
                for block in answer.iter_content(_BLOCK):
                    out.write(block)
                    progress.advance()
            if file.member:
                with zipfile.ZipFile(temporary) as archive:
                    content = archive.read(file.member)
                temporary.write_bytes(content)
            digest = sha256_of(temporary)
            if file.sha256 is not None and digest != file.sha256:
                raise InputError(_advice(path, file, f"was downloaded altered (SHA-256 {digest})"))
    except (requests.RequestException, zipfile.BadZipFile, KeyError) as error:
        reason = f"is missing and could not be downloaded ({type(error).__name__})"
        raise InputError(_advice(path, file, reason)) from error


def text_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 file with their ends, decompressed if its name ends with ``.gz``.

    A byte order mark is left out.
    """
    number = 1
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}:{number}: not UTF-8 text ({error.reason}); save it as UTF-8"
        ) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path}: not a readable gzip file ({error})") from None


def read_jsonl(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield line number (from 1) and object of each non-blank line."""
    for number, line in enumerate(text_lines(path), start=1):
        if not line.strip():
            continue
        row = parse_json(line, f"{path}:{number}")
        if not isinstance(row, dict):
            raise InputError(f"{path}:{number}: expected a JSON object, found {line.strip()[:40]}")
        yield number, row


def shipped(folder: str, digests: Mapping[str, str]) -> Path:
    """Return a folder of files that come with exparity."""
    place = resource(folder)
    for name, digest in digests.items():
        path = place / name
        if not path.is_file() or sha256_of(path) != digest:
            raise InputError(f"{path} is missing or altered; install exparity again")
    return place
