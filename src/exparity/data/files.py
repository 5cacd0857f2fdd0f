"""Raw files of datasets: found in the data folder or downloaded, verified, and read."""

from __future__ import annotations

import gzip
import logging
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exparity.artefacts.files import atomic_path
from exparity.artefacts.lineage import sha256_of
from exparity.core.errors import InputError, reason_of
from exparity.core.strict import parse_json
from exparity.data.facts import RemoteFile
from exparity.types import Example, Split

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)

COLUMNAR = (".parquet", ".arrow")
"""Suffixes of files that :func:`read_columnar` reads."""
_FILE_OF_ARROW = b"ARROW1"
"""How Arrow's files begin that are no streams."""

FETCH = "where there is a network, `snakemake fetch` with the run's config gets it"


@dataclass(frozen=True, init=False)
class DataSource:
    """The folder of raw files, and whether missing ones may be downloaded to it.

    Attributes:
        folder: the data folder (``data_dir`` in the config).
        download: False to fail instead of using the network.
    """

    folder: Path
    download: bool = True

    def __init__(self, folder: str | Path, *, download: bool = True) -> None:
        object.__setattr__(self, "folder", Path(folder))
        object.__setattr__(self, "download", download)

    def fetch(self, file: RemoteFile) -> Path:
        """Return the path of a raw file, downloading it if it is missing.

        Raises:
            InputError: the file is missing and cannot be downloaded.
        """
        path = self.folder / file.path
        if path.is_file():
            return path
        if file.by_hand or not self.download:
            fetch = "" if file.by_hand else f"; {FETCH}"
            raise InputError(f"{_advice(path, file, 'is missing')}{fetch}")
        _download(file, path)
        return path

    def find(self, file: RemoteFile, *, verify: bool = True) -> Path:
        """Return the path of a verified raw file, downloading it if it is missing.

        Args:
            file: the file to find.
            verify: False to accept a copy with another SHA-256, or one that cannot be verified; the
                log then has its SHA-256.

        Raises:
            InputError: the file is missing and cannot be downloaded, its SHA-256 differs, or the
                published one is not known.
        """
        path = self.fetch(file)
        digest = sha256_of(path)
        if not verify:
            log.info("%s: not verified, its SHA-256 is %s", path, digest)
        elif file.sha256 is None:
            raise InputError(
                f"{path.absolute()} cannot be verified, since its published SHA-256 is not known "
                f"(here it is {digest}); once you have compared the file with {file.url}, set the "
                "dataset's option 'verify: false'"
            )
        elif digest != file.sha256:
            advice = _advice(path, file, f"is altered (its SHA-256 is {digest})")
            raise InputError(f"{advice}; for a copy of your own, set 'verify: false'")
        return path


def read_published(
    source: DataSource,
    files: Mapping[str, RemoteFile],
    rows_of: Callable[[Path], Iterable[tuple[str, Any]]],
    example_of: Callable[[Any, str, int], Example | None],
    *,
    verify: bool,
) -> list[Example]:
    """Read the examples of a published dataset.

    Args:
        source: the folder of raw files.
        files: its files by the name of the part that they hold.
        rows_of: yields the place (``file:line``) and the content of each row of a file.
        example_of: receives a row's content, its part and its number in the file, from 1; returns
            the example, or None to leave the row out.
        verify: False to accept files that are not the published ones.

    Raises:
        InputError: a file cannot be had or is not the published one, or a row cannot be read.
    """
    examples = []
    for part, file in files.items():
        rows = rows_of(source.find(file, verify=verify))
        for number, (where, row) in enumerate(rows, start=1):
            with published_row(where):
                example = example_of(row, part, number)
            if example is not None:
                examples.append(example)
    return examples


def split_of(part: str) -> Split:
    """Return the split of a published part: parts for validation are trained on."""
    return "test" if part.startswith("test") else "train"


@contextmanager
def published_row(where: str) -> Iterator[None]:
    """Name the row of a raw file that cannot be read, such as one of an altered copy."""
    try:
        yield
    except InputError:
        raise
    except (AttributeError, LookupError, OSError, TypeError, ValueError) as error:
        raise InputError(
            f"{where}: not as in the published file ({type(error).__name__}: {error}); fetch it "
            "again"
        ) from None


def _advice(path: Path, file: RemoteFile, problem: str) -> str:
    member = f"{file.member} of " if file.member else ""
    digest = f" (SHA-256 {file.sha256})" if file.sha256 else ""
    how = f", {file.by_hand}," if file.by_hand else ""
    return (
        f"{path.absolute()} {problem}; get {member}{file.url}{digest}{how} and put it there, or "
        "set data_dir to the folder that has it"
    )


def _download(file: RemoteFile, path: Path) -> None:
    import requests

    log.info("downloading %s", file.url)
    try:
        answer = requests.get(file.url, timeout=60)
        answer.raise_for_status()
        content = answer.content
        if file.member:
            with zipfile.ZipFile(BytesIO(content)) as archive:
                content = archive.read(file.member)
    except (requests.RequestException, zipfile.BadZipFile, KeyError) as error:
        reason = f"is missing and could not be downloaded ({type(error).__name__})"
        raise InputError(_advice(path, file, reason)) from error
    digest = sha256(content).hexdigest()
    if file.sha256 not in (None, digest):
        raise InputError(_advice(path, file, f"was downloaded altered (SHA-256 {digest})"))
    with atomic_path(path) as temporary:
        temporary.write_bytes(content)


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
            f"{path}:{number}: not UTF-8 text ({error.reason}); save it as UTF-8 (Excel "
            "calls it CSV UTF-8)"
        ) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path}: not a readable gzip file ({error})") from None


def placed_lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the place (``file:line``) and the text of each line that is not blank."""
    for number, line in enumerate(text_lines(path), start=1):
        if line.strip():
            yield f"{path}:{number}", line


def read_jsonl(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place (``file:line``) and the object of each line that is not blank."""
    for where, line in placed_lines(path):
        row = parse_json(line, where)
        if not isinstance(row, dict):
            raise InputError(f"{where}: expected a JSON object, found {line.strip()[:40]}")
        yield where, row


def read_columnar(
    path: Path, columns: Sequence[str] | None = None
) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the place (``file, row 1``) and the values of each row of a Parquet or Arrow file.

    Args:
        path: the file: Arrow if its name ends in ``.arrow``, a stream or not, else Parquet.
        columns: names of the columns to read; all if None.

    Raises:
        InputError: the file cannot be read.
    """
    with _readable(path):
        rows = chain.from_iterable(batch.to_pylist() for batch in _batches(path, columns))
        for number, row in enumerate(rows, start=1):
            yield f"{path}, row {number}", row


def columnar_schema(path: Path) -> pa.Schema:
    """Return the schema of a Parquet or Arrow file; see :func:`read_columnar`."""
    from pyarrow import parquet

    with _readable(path):
        if not _is_arrow(path):
            return parquet.read_schema(path)
        with _arrow_reader(path) as reader:
            return reader.schema


def _is_arrow(path: Path) -> bool:
    return path.name.lower().removesuffix(".gz").endswith(".arrow")


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Within the context, what cannot be read of a file is bad input, in one line."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        kind = "Arrow" if _is_arrow(path) else "Parquet"
        raise InputError(f"{path}: not a readable {kind} file ({reason_of(error)})") from None


def _batches(path: Path, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
    from pyarrow import parquet

    if not _is_arrow(path):
        with parquet.ParquetFile(path) as file:
            yield from file.iter_batches(columns=columns)
        return
    with _arrow_reader(path) as reader:
        for batch in reader:
            batch.validate(full=True)  # a damaged file may point outside of it
            yield batch if columns is None else batch.select(columns)


@contextmanager
def _arrow_reader(path: Path) -> Iterator[pa.RecordBatchReader]:
    """Open an Arrow file; what ``datasets`` writes is a stream."""
    import pyarrow as pa

    with pa.OSFile(str(path)) as file:
        is_stream = file.read(len(_FILE_OF_ARROW)) != _FILE_OF_ARROW
        file.seek(0 if is_stream else 8)  # what follows the mark of a file is a stream as well
        with pa.ipc.open_stream(file) as reader:
            yield reader
