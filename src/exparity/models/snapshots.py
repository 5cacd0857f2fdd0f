"""The state of an unfinished training, from which a restarted job continues.

Kept beside the output, one folder per finished epoch, as safetensors and JSON; never pickled.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exparity.artefacts.files import new_folder
from exparity.models.manifest import DamageError, read_verified, saving, sync, write_manifest

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)
_FACTS = "facts.json"
_TENSORS = ("weights", "moments", "best")


@dataclass(frozen=True)
class Snapshot:
    """Everything that the next epoch depends on, beside the seed."""

    weights: Mapping[str, torch.Tensor]  # parameters and buffers by name
    moments: Mapping[str, torch.Tensor]  # AdamW's state, as ``<index of the parameter>/<entry>``
    # weights of the best epoch so far; empty without early stopping
    best: Mapping[str, torch.Tensor]
    facts: Mapping[str, Any]  # plain values, such as epoch and history


def _on_cpu(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return tensors as safetensors takes them, copied only where they share memory."""
    owners: set[int] = set()
    ready = {}
    for name, tensor in tensors.items():
        here = tensor.detach().cpu().contiguous()
        storage = here.untyped_storage()
        is_alone = storage.nbytes() == here.nbytes and storage.data_ptr() not in owners
        owners.add(storage.data_ptr())
        ready[name] = here if is_alone else here.clone()
    return ready


class StateFolder:
    """Snapshots of one training, valid for one fingerprint only.

    Args:
        folder: where they lie.
        fingerprint: digest of data, parameters, seed and code.
    """

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self.folder = folder
        self.fingerprint = fingerprint
        self.earlier_seconds = 0.0  # of epochs that interrupted jobs have finished

    def save(self, snapshot: Snapshot) -> None:
        """Write a snapshot, then drop all but the one before, in case this one is damaged.

        A kill at any point leaves a whole one.
        """
        from safetensors.torch import save_file

        epoch = int(snapshot.facts["epoch"])
        final = self.folder / f"epoch-{epoch:04d}"
        with new_folder(final) as temporary, saving(self.folder):
            for name in _TENSORS:
                tensors = _on_cpu(getattr(snapshot, name))
                save_file(tensors, temporary / f"{name}.safetensors")
                del tensors
            facts = {**snapshot.facts, "fingerprint": self.fingerprint}
            write_manifest(temporary / _FACTS, facts)
        sync(self.folder)
        for other in self.folder.iterdir():
            if other.name not in (final.name, f"epoch-{epoch - 1:04d}"):
                shutil.rmtree(other, ignore_errors=True)

    def load(self) -> Snapshot | None:
        """Return the latest snapshot, or None; stale and damaged ones are discarded and logged."""
        from safetensors.torch import load_file

        if not self.folder.is_dir():
            return None
        complete = (f for f in self.folder.iterdir() if not f.name.endswith(".tmp"))
        for latest in sorted(complete, reverse=True):
            try:
                facts = read_verified(latest / _FACTS)
            except DamageError as error:
                log.warning("%s: %s; discarded", latest, error)
                continue
            if facts.pop("fingerprint") != self.fingerprint:
                log.info("%s: made from other data, parameters or code; starting afresh", latest)
                self.clear()
                return None
            # Copies: a file in memory begins at any multiple of 8 bytes, for which MKL has other
            # kernels, and it would stay open after the folder is removed.
            tensors = {
                name: {k: v.clone() for k, v in load_file(latest / f"{name}.safetensors").items()}
                for name in _TENSORS
            }
            epochs = facts.get("history", ())
            self.earlier_seconds = sum(epoch.get("seconds", 0.0) for epoch in epochs)
            return Snapshot(**tensors, facts=facts)
        return None

    def clear(self) -> None:
        """Remove all snapshots."""
        shutil.rmtree(self.folder, ignore_errors=True)
