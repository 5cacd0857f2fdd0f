"""Choosing a device and making torch repeatable on it."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from exparity.core.errors import InputError
from exparity.core.flags import Flag, Range

if TYPE_CHECKING:
    import torch

# Environment variable, number of the option in malloc.h, bytes.
_MALLOC = (("MALLOC_TRIM_THRESHOLD_", -1, 1 << 27), ("MALLOC_MMAP_THRESHOLD_", -3, 1 << 25))


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Where a job runs a model.

    Attributes:
        device: ``auto``, ``cpu`` or ``cuda:N``.
        threads: CPU threads of one operation; with another number, last bits differ.
        token_budget: padded tokens per batch; by device if None.
    """

    device: Annotated[str, Flag(environment="DEVICE")] = "auto"
    threads: Annotated[int, Range(at_least=1, at_most=1024)] = 1
    token_budget: Annotated[int | None, Flag(environment="TOKEN_BUDGET")] = None


@dataclass(frozen=True, kw_only=True)
class Inference(Machine):
    """Where and how a job runs a trained model.

    Attributes:
        precision: arithmetic of the model; gradients are coarse in bf16, and taken in fp32 with
            fp16.
        shortcuts: leave out work that cannot reach the output (BERT, RoBERTa, GPT-2).
        passes: folder through which jobs of one checkpoint share passes: both forms of integrated
            gradients differentiate the same points. None shares nothing.
    """

    precision: Literal["fp32", "bf16", "fp16"] = "fp32"
    shortcuts: Annotated[bool, Flag(environment="SHORTCUTS")] = False
    passes: Annotated[Path | None, Flag(environment="PASSES", path="folder")] = None


def resolve_device(name: str) -> torch.device:
    """Return the torch device of a name; ``auto`` is the first GPU, without one the CPU."""
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


def make_repeatable(threads: int) -> None:
    """Set torch up so that equal inputs give equal outputs, and memory so that it is kept.

    TF32 is off and deterministic kernels are used where torch has them.
    """
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    import torch

    _keep_memory()
    torch.set_num_threads(threads)
    if torch.cuda.is_available():
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        # Only here: it loads torch's compiler, and the CPU kernels used are deterministic anyway.
        torch.use_deterministic_algorithms(True, warn_only=True)


def _keep_memory() -> None:
    """Have the C library keep freed memory for the next batch.

    Given back, it must be asked for again and is cleared by the kernel page by page, which took a
    third of the time of a LIME job on the CPU. Settings in the environment win.
    """
    mallopt = _from_libc("mallopt")
    for variable, option, size in _MALLOC:
        if mallopt and variable not in os.environ:
            mallopt(option, size)


def give_back_memory() -> None:
    """Return freed memory to the system: blocks of many sizes leave gaps that would add up."""
    trim = _from_libc("malloc_trim")
    if trim:
        trim(0)


def _from_libc(name: str) -> Any:
    """Return a function of the C library, None if it has none (it is not glibc)."""
    try:
        return getattr(ctypes.CDLL(None), name, None)
    except OSError:
        return None
