"""Number of weights of a checkpoint, read from the headers of its files."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

from exparity.models.download import cached_folder
from exparity.models.lora import base_of, is_adapter


@cache
def n_weights(checkpoint: str, revision: str | None = None) -> int | None:
    """Return the number of weights of a checkpoint; None where its files are not here."""
    from safetensors import SafetensorError, safe_open

    if is_adapter(Path(checkpoint)):
        checkpoint, revision = base_of(Path(checkpoint))
    given = Path(checkpoint)
    folder = given if given.is_dir() else cached_folder(checkpoint, revision)
    count = 0
    try:
        for path in folder.glob("*.safetensors") if folder else ():
            with safe_open(path, framework="np") as file:
                shapes = [file.get_slice(name).get_shape() for name in file.keys()]  # noqa: SIM118
            count += sum(map(math.prod, shapes))
    except (OSError, SafetensorError):
        return None  # for the job that loads it to say
    return count or None
