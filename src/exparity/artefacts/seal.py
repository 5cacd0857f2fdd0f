"""Parquet files with a seal: digests of all their bytes, so that a flipped bit is found.

Parquet's own checksums cover the pages, but neither their headers nor the footer. The seal lies
between the last page and the footer, in bytes that readers of Parquet skip::

    pages | mark | lineage | SHA-256 of the pages | SHA-256 of these and the footer | mark | footer

The lineage is the key of what the file was made from (:mod:`exparity.artefacts.lineage`), or zeros.
The last digest stands for the whole file, and its end is enough to check it against the footer.
Of the marks one is enough to know that there is a seal, so that damage to it is found.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from exparity.core.errors import InputError

_MARK = b"\x8fsealed\x8f"
_DIGEST = sha256().digest_size
_SIZE = 2 * len(_MARK) + 3 * _DIGEST
_TAIL = 8  # the footer's length and Parquet's own mark
_ALTERED = "its bytes are not those that were written"


class Seal(NamedTuple):
    """Content of a seal, in hexadecimal."""

    lineage: str  # key of what the file was made from; empty where it is unknown
    digest: str  # of the whole file


def write_sealed(table: pa.Table, path: Path, lineage: str = "") -> None:
    """Write a table, compressed, with checksums of its pages and a seal."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
    content = memoryview(sink.getvalue())
    end = len(content) - _footer_size(content)
    facts = bytes.fromhex(lineage).rjust(_DIGEST, b"\0") + sha256(content[:end]).digest()
    with path.open("wb") as file:
        file.write(content[:end])
        file.write(_seal(facts, content[end:]))
        file.write(content[end:])


@contextmanager
def open_sealed(path: Path) -> Iterator[pq.ParquetFile]:
    """Open a Parquet file to read from it; of one without a seal, page checksums are verified."""
    with _damage(path):
        content = memoryview(path.read_bytes())  # mapped, a bad sector would kill the process
        size = _footer_size(content)
        seal = content[-size - _SIZE : -size]
        footer = content[-size:]
        sealed = _is_seal(seal)
        facts = _facts(seal)[:_DIGEST] + sha256(content[: -size - _SIZE]).digest()
        if sealed and seal != _seal(facts, footer):
            raise pa.ArrowInvalid(_ALTERED)
        buffer = pa.BufferReader(content)
        with pq.ParquetFile(buffer, page_checksum_verification=not sealed) as file:
            yield file


def read_metadata(path: Path) -> pq.FileMetaData:
    """Read and verify the footer of a Parquet file, and nothing else of it."""
    with _damage(path):
        seal, footer = _end_of(path)
        if _is_seal(seal) and seal != _seal(_facts(seal), footer):
            raise pa.ArrowInvalid(_ALTERED)
        return pq.read_metadata(pa.BufferReader(footer))


def read_seal(path: Path) -> Seal | None:
    """Return what a file's seal says, unverified; None without a seal."""
    seal, _ = _end_of(path, footer=False)
    if not _is_seal(seal):
        return None
    lineage = _facts(seal)[:_DIGEST]
    digest = seal[-len(_MARK) - _DIGEST : -len(_MARK)]
    return Seal(lineage.hex() if any(lineage) else "", digest.hex())


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    try:
        yield
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise InputError(
            f"{path}: not a readable Parquet file ({reason}); delete it and run again"
        ) from error


def _footer_size(content: bytes | memoryview) -> int:
    return int.from_bytes(content[-_TAIL:-4], "little") + _TAIL


def _seal(facts: bytes, footer: bytes | memoryview) -> bytes:
    """Return the seal of a file from its lineage, its pages' digest and its footer."""
    return b"".join((_MARK, facts, sha256(facts + footer).digest(), _MARK))


def _facts(seal: bytes | memoryview) -> bytes:
    return bytes(seal[len(_MARK) : len(_MARK) + 2 * _DIGEST])


def _is_seal(seal: bytes | memoryview) -> bool:
    return _MARK in (bytes(seal[: len(_MARK)]), bytes(seal[-len(_MARK) :]))


def _end_of(path: Path, *, footer: bool = True) -> tuple[bytes, bytes]:
    """Return the seal, or what is in its place, and the footer if it is wanted."""
    with path.open("rb", buffering=0) as file:
        length = os.fstat(file.fileno()).st_size
        size = _footer_size(os.pread(file.fileno(), _TAIL, max(0, length - _TAIL)))
        size = min(size, length)  # which a damaged one exceeds
        end = os.pread(file.fileno(), _SIZE + size * footer, max(0, length - size - _SIZE))
    return (end[:-size], end[-size:]) if footer else (end, b"")
