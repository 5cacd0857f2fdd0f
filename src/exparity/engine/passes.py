"""Results of model passes that several jobs of one checkpoint ask for, shared through a folder."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from exparity.models.manifest import digests_of
from exparity.types import FloatArray


@dataclass(frozen=True)
class SharedPasses:
    """A folder in which a job leaves arrays for another that would compute the same.

    Attributes:
        folder: where they lie, under digests of all that they depend on.
        checkpoint: folder of the classifier that runs.
        settings: how it runs, as far as results may differ by it.
    """

    folder: Path
    checkpoint: Path
    settings: Any

    @cached_property
    def _common(self) -> bytes:
        facts = [version("exparity"), digests_of(self.checkpoint), self.settings]
        return json.dumps(facts, sort_keys=True, default=str).encode()

    def place(self, what: str, inputs: Iterable[bytes]) -> Path:
        """Return where the result of some passes lies, by what is computed and from what."""
        digest = hashlib.sha256(self._common)
        for part in (what.encode(), *inputs):
            digest.update(len(part).to_bytes(8, "big") + part)
        return self.folder / f"{digest.hexdigest()}.npy"

    def take(self, place: Path) -> FloatArray | None:
        """Return the array there, which goes: two jobs share it. None where there is none."""
        try:
            found: FloatArray = np.load(place)
            place.unlink(missing_ok=True)
        except (OSError, ValueError, EOFError):  # not there yet, or damaged
            return None
        return found

    def leave(self, place: Path, array: FloatArray) -> None:
        """Put an array there as a whole."""
        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = place.with_suffix(f".{os.getpid()}.tmp")
        with temporary.open("wb") as file:
            np.save(file, array)
        temporary.replace(place)
