"""What files of a results folder say about their jobs without being read: footers, benchmarks."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exparity.artefacts.seal import read_metadata
from exparity.core.errors import InputError

_PREFIX = "exparity."
_TAIL = 8  # length of the footer and the closing magic bytes
UNREADABLE = (OSError, ValueError)


@dataclass(frozen=True)
class Footer:
    """The footer of an artefact.

    Attributes:
        rows: number of rows.
        size: bytes of the file.
        data_size: of these, those that are rows.
        raw: its key-value metadata.
    """

    rows: int
    size: int
    data_size: int
    raw: Mapping[bytes, bytes]

    def get(self, name: str, default: Any = None) -> Any:
        """Return an entry of exparity's metadata."""
        value = self.raw.get(f"{_PREFIX}{name}".encode())
        return default if value is None else json.loads(value)

    def number(self, name: str) -> float | None:
        """Return an entry that is a number; None if it is none."""
        return as_number(self.get(name))

    @property
    def parameters(self) -> str:
        """The parameters of the job, as JSON."""
        return self.raw.get(f"{_PREFIX}parameters".encode(), b"{}").decode()


def read_footer(path: Path) -> Footer:
    """Read the footer of an artefact.

    Raises:
        InputError: it cannot be read, is damaged, or was not written by exparity.
    """
    found = read_metadata(path)
    raw = found.metadata or {}
    if f"{_PREFIX}parameters".encode() not in raw:
        raise InputError(f"{path}: not written by exparity")
    size = path.stat().st_size
    return Footer(found.num_rows, size, max(0, size - found.serialized_size - _TAIL), raw)


@dataclass(frozen=True)
class Benchmark:
    """What Snakemake measured of a job; None where it could not.

    Attributes:
        seconds: from the start of its shell to the end.
        cpu_seconds: sampled, so that it misses what came after the last sample.
        max_rss_mb: of all its processes together, sampled as well.
    """

    seconds: float | None = None
    cpu_seconds: float | None = None
    max_rss_mb: float | None = None


def read_benchmark(path: Path) -> Benchmark:
    """Read a benchmark file; nothing is known where there is none.

    Raises:
        ValueError: it is no benchmark file.
        OSError: it cannot be read.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
    except FileNotFoundError:
        return Benchmark()
    if not rows or as_number(rows[-1].get("s")) is None:
        raise ValueError("not a benchmark file of Snakemake")
    last = rows[-1]
    return Benchmark(
        as_number(last["s"]), as_number(last.get("cpu_time")), as_number(last.get("max_rss"))
    )


def as_number(value: Any) -> float | None:
    """Return a number that a file holds, or None for anything else (``NA``, ``-``)."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) and number >= 0 else None


def parquet_files(folder: Path) -> dict[str, Path]:
    """Return the Parquet files below a folder by relative path without suffix, sorted.

    Hidden ones are work in progress.
    """
    found = {}
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if name.endswith(".parquet") and not name.startswith("."):
                path = Path(parent, name)
                found[path.relative_to(folder).with_suffix("").as_posix()] = path
    return dict(sorted(found.items()))


def size_of(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    return sum(
        os.stat(os.path.join(parent, name)).st_size
        for parent, _, names in os.walk(folder)
        for name in names
    )
