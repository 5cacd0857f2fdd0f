"""Choosing a device and making torch repeatable on it."""

from __future__ import annotations

import ctypes
import fcntl
import os
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypedDict

from exparity.core.errors import InputError
from exparity.core.flags import Budget, Flag, Range
from exparity.core.usage import memory_held

if TYPE_CHECKING:
    import torch

# Environment variable, number of the option in malloc.h, bytes.
_MALLOC = (("MALLOC_TRIM_THRESHOLD_", -1, 1 << 27), ("MALLOC_MMAP_THRESHOLD_", -3, 1 << 25))
_WORTH_RETURNING = 1 << 27
"""Bytes by which a process grows before it returns freed memory."""
_held_before = 0
"""Bytes that this process held when it returned freed memory last."""
_BF16 = (8, 0)
"""Compute capability of the first GPUs that compute in bf16."""
_MESSAGES = ("out of memory", "can't allocate memory", "ALLOC_FAILED", "STATUS_NOT_INITIALIZED")
"""Messages of torch, CUDA, cuBLAS and cuDNN on full memory; the last is one of their start."""
_NO_GPU = "or set `engine: {device: cpu}`"


Precision = Literal["fp32", "bf16", "fp16"]


class LoadingOptions(TypedDict, total=False):
    """Options of :func:`exparity.load_classifier` that depend on the machine of a job."""

    device: str
    token_budget: int | None
    device_map: str | None
    max_memory: str | None
    max_calls: int | None
    precision: Precision
    shortcuts: bool


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Device and threads of a job that runs a model.

    Attributes:
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        threads: CPU threads of one operation; with another number, last bits differ.
        token_budget: padded tokens per batch; by device if None.
        device_map: how accelerate spreads weights over devices, instead of ``device``: ``auto``,
            ``balanced``, ``balanced_low_0``, ``sequential``, or JSON with a device by module.
        max_memory: most memory of weights by device, such as ``0=14GiB,cpu=60GiB``.
        max_calls: most texts that one job sends to a function; no bound if None.
    """

    device: Annotated[str, Flag(environment="DEVICE")] = "auto"
    threads: Annotated[int, Range(at_least=1, at_most=1024)] = 1
    token_budget: Annotated[Budget | None, Flag(environment="TOKEN_BUDGET")] = None
    device_map: Annotated[str | None, Flag(environment="DEVICE_MAP")] = None
    max_memory: Annotated[str | None, Flag(environment="MAX_MEMORY")] = None
    max_calls: Annotated[Budget | None, Flag(environment="MAX_CALLS")] = None

    @property
    def of_classifier(self) -> LoadingOptions:
        """Arguments of :func:`exparity.load_classifier`; threads are torch's, and none of them."""
        return {
            "device": self.device,
            "token_budget": self.token_budget,
            "device_map": self.device_map,
            "max_memory": self.max_memory,
            "max_calls": self.max_calls,
        }


@dataclass(frozen=True, kw_only=True)
class Inference(Machine):
    """Device, precision and speed of a job that runs a trained model.

    Attributes:
        precision: arithmetic of the model; gradients are coarse in bf16, and taken in fp32 with
            fp16.
        shortcuts: leave out work that cannot reach the output (BERT, RoBERTa, GPT-2).
    """

    precision: Precision = "fp32"
    shortcuts: Annotated[bool, Flag(environment="SHORTCUTS")] = False

    @property
    def of_classifier(self) -> LoadingOptions:
        """Arguments of :func:`exparity.load_classifier`."""
        return {**super().of_classifier, "precision": self.precision, "shortcuts": self.shortcuts}


def resolve_device(name: str) -> torch.device:
    """Return the torch device of a name; ``auto`` is a GPU that few processes have, or the CPU.

    Raises:
        InputError: there is no such device, or torch cannot use the GPU that is there.
    """
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto" and not count:
        if torch.version.cuda and os.environ.get("CUDA_VISIBLE_DEVICES", "-1") not in ("", "-1"):
            raise InputError(  # a job on a cluster would run for hours on its one core
                "device 'auto': CUDA_VISIBLE_DEVICES names a GPU, but torch "
                f"{torch.__version__} finds none; compare its CUDA with nvidia-smi, which "
                f"names the newest that the driver runs, {_NO_GPU}"
            )
        return torch.device("cpu")
    try:
        device = torch.device("cuda" if name == "auto" else name)
    except RuntimeError:
        raise InputError(f"device '{name}': use auto, cpu, cuda or cuda:N") from None
    if device.type == "cpu":
        return device
    if device.type != "cuda":
        raise InputError(f"device '{name}': use auto, cpu, cuda or cuda:N")
    if (device.index or 0) >= count:
        raise InputError(f"device '{name}': this machine shows {count} GPUs to the job")
    device = torch.device("cuda", _dealt_gpu(count) if device.index is None else device.index)
    _require_kernels(device)
    return device


def gpus_for(name: str, count: int) -> str:
    """Return ``cuda`` if processes get a GPU each, from the name of a device, or else ``cpu``.

    Raises:
        InputError: the name is of one GPU, or there are fewer GPUs than processes.
    """
    import torch

    if ":" in name:
        raise InputError(
            f"device '{name}': is one GPU, for training.processes {count}; write cuda or auto"
        )
    device = resolve_device(name)
    available = torch.cuda.device_count() if device.type == "cuda" else count
    if available < count:
        raise InputError(
            f"training.processes {count}: this machine shows {available} GPUs to the job; ask for "
            "more of them, or lower training.processes"
        )
    return device.type


def _require_kernels(device: torch.device) -> None:
    """Check that torch was built for a GPU: builds with CUDA 13 leave out the V100."""
    import torch

    major, minor = torch.cuda.get_device_capability(device)
    # Code of a capability runs on later ones of the same major number, intermediate code on all.
    runnable = {f"sm_{major}{older}" for older in range(minor + 1)}
    built = torch.cuda.get_arch_list()
    later = (int(name[8:]) <= 10 * major + minor for name in built if name[8:].isdecimal())
    if any(name.startswith("sm_") for name in built) and not runnable & {*built} and not any(later):
        raise InputError(
            f"{_card(device)}, for which torch {torch.__version__} has no code; install another "
            f"build (for a V100: torch 2.10 of PyPI, or one with CUDA 12.6), {_NO_GPU}"
        )


@cache
def _dealt_gpu(count: int) -> int:
    """Return a GPU that the fewest processes of this user have, and take it until this one ends."""
    import torch

    if count == 1:
        return 0
    folder = Path(tempfile.gettempdir(), f"exparity-gpus-{os.getuid()}")
    names = [torch.cuda.get_device_properties(index).uuid for index in range(count)]
    with suppress(OSError):  # a folder that is another user's, or holds no locks
        folder.mkdir(mode=0o700, exist_ok=True)
        for place, index in product(range(os.cpu_count() or 1), range(count)):
            file = os.open(folder / f"{names[index]}.{place}", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(file)
            else:
                return index
    return 0


def require_bf16(device: torch.device, key: str) -> None:
    """Check for ``key`` that a device computes in bf16, which torch would emulate slowly."""
    import torch

    if device.type == "cuda" and torch.cuda.get_device_capability(device) < _BF16:
        raise InputError(f"{key} bf16: {_card(device)}, which has none; use fp32 or fp16")


def _card(device: torch.device) -> str:
    """Return in words what a GPU is."""
    import torch

    capability = ".".join(map(str, torch.cuda.get_device_capability(device)))
    return f"{device} is a {torch.cuda.get_device_name(device)} (compute capability {capability})"


def is_out_of_memory(error: RuntimeError) -> bool:
    """Return whether an error of torch says that memory is full, on a CPU or on a GPU."""
    import torch

    text = str(error)
    return isinstance(error, torch.OutOfMemoryError) or any(part in text for part in _MESSAGES)


def make_repeatable(threads: int) -> None:
    """Set torch up so that equal inputs give equal outputs, and the C library to keep memory."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    import torch

    # To clear freed memory anew, page by page, took a third of the time of a LIME job on the CPU.
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other C libraries have none
    for variable, option, size in _MALLOC:
        if mallopt and variable not in os.environ:
            mallopt(option, size)
    torch.set_num_threads(threads)
    if torch.cuda.is_available():
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        # Only here: it loads torch's compiler, and the CPU kernels used are deterministic anyway.
        torch.use_deterministic_algorithms(True, warn_only=True)


def has_gpu_context() -> bool:
    """Return whether this process has used a GPU, and so holds some of its memory."""
    torch = sys.modules.get("torch")
    return torch is not None and torch.cuda.is_initialized()


def give_back_memory() -> None:
    """Return freed memory to the system: blocks of many sizes leave gaps that would add up.

    Nothing is returned until this process has grown by 128 MB since the last time: what is returned
    has to be cleared, page by page, when it is taken again.
    """
    global _held_before
    if memory_held() - _held_before < _WORTH_RETURNING:
        return
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)
        _held_before = memory_held()
