"""Choosing a device and making torch repeatable on it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from exparity.errors import InputError

if TYPE_CHECKING:
    import torch


def resolve_device(name: str) -> torch.device:
    """Return the torch device of a name; ``auto`` is the first GPU if there is one, else the CPU.

    Raises:
        InputError: no such device here.
    """
    import torch

    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise InputError(f"device '{name}': use auto, cpu, cuda or cuda:N") from None
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise InputError(
            f"device '{name}': this machine shows {torch.cuda.device_count()} GPUs to the job"
        )
    return device


def make_repeatable(threads: int | None = None) -> None:
    """Set torch up so that equal inputs give equal outputs.

    TF32 is off and deterministic kernels are used where torch has them.

    Args:
        threads: CPU threads of one operation; torch's choice if None.
    """
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    import torch

    if threads is not None:
        torch.set_num_threads(threads)
    if torch.cuda.is_available():
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        # Only here: it loads torch's compiler, and the CPU kernels used are deterministic anyway.
        torch.use_deterministic_algorithms(True, warn_only=True)
