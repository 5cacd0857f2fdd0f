"""Results of model passes that several jobs of one checkpoint ask for, shared through a folder."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from exparity.artefacts.files import atomic_path
from exparity.models.manifest import digests_of
from exparity.types import FloatArray

# A file of passes, or the temporary one that a killed job was writing.
_LEFT = re.compile(r"[0-9a-f]{64}\.npy|\.[0-9a-f]{64}\.npy\.\w+\.tmp")


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
        """Put an array there as a whole; where that cannot be, the other job computes it too."""
        with suppress(OSError), atomic_path(place) as temporary, temporary.open("wb") as file:
            np.save(file, array)


def remove_passes(folder: Path) -> None:
    """Remove what jobs have left in a folder, and the folder if nothing else is in it."""
    with suppress(OSError):
        for path in folder.iterdir():
            if _LEFT.fullmatch(path.name):
                path.unlink(missing_ok=True)
        folder.rmdir()
