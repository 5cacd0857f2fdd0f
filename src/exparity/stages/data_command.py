"""The raw files of datasets: list them, fetch them, check them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from exparity.data import DATASETS
from exparity.data.files import DataSource, sha256_of
from exparity.errors import InputError
from exparity.interface import RemoteFile


def _chosen(ids: Sequence[str]) -> Iterator[tuple[str, tuple[RemoteFile, ...]]]:
    for id in ids or DATASETS.ids():
        files = DATASETS.get(id).facts.files
        if files or ids:
            yield id, files


def list_data(source: DataSource, ids: Sequence[str]) -> None:
    """Print every dataset with its groups, licence and files."""
    for id in ids or DATASETS.ids():
        entry = DATASETS.get(id)
        facts = entry.facts
        print(f"{id}: {entry.summary}")
        print(f"    {facts.attribute}: {', '.join(facts.groups)}; licence {facts.licence}")
        for file in facts.files:
            state = "here" if (source.folder / file.path).is_file() else "not here"
            print(f"    {source.folder / file.path} ({state})")
        if not facts.files:
            print("    embedded: needs no file")


def fetch_data(source: DataSource, ids: Sequence[str]) -> None:
    """Download what is missing and verify what is there.

    Raises:
        InputError: a file cannot be downloaded or is altered.
    """
    for id, files in _chosen(ids):
        for file in files:
            print(f"{id}: {source.find(file)} verified")
        if not files:
            print(f"{id}: embedded, nothing to fetch")


def check_data(source: DataSource, ids: Sequence[str]) -> None:
    """Verify all files and say of each what it is.

    Raises:
        InputError: at least one is missing or altered; the others are still checked.
    """
    bad = 0
    for id, files in _chosen(ids):
        for file in files:
            path = source.folder / file.path
            if not path.is_file():
                state = "missing"
            else:
                state = "verified" if sha256_of(path) == file.sha256 else "ALTERED"
            bad += state != "verified"
            print(f"{id}: {path} {state}")
    if bad:
        raise InputError(
            f"{bad} files are missing or altered below {source.folder.absolute()}; "
            "`exparity data fetch` downloads missing ones, delete altered ones first"
        )
