"""How many weights a checkpoint has, read from the headers of its files."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path

from exparity.models.download import cached_folder


@cache
def n_weights(checkpoint: str, revision: str | None = None) -> int | None:
    """Return the number of weights of a checkpoint; None where its files are not here."""
    given = Path(checkpoint)
    folder = given if given.is_dir() else cached_folder(checkpoint, revision)
    if folder is None:
        return None
    try:
        return sum(map(_n_of_file, folder.glob("*.safetensors"))) or None
    except (OSError, ValueError, TypeError, AttributeError):
        return None  # for the job that loads it to say


def _n_of_file(path: Path) -> int:
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if size > path.stat().st_size:
            raise ValueError(f"{path}: is damaged")
        header = json.loads(file.read(size))
    shapes = (entry["shape"] for name, entry in header.items() if name != "__metadata__")
    return sum(math.prod(shape) for shape in shapes)
