"""The processes that train one model together: each runs its rows of every batch.

Gradients, losses and hits are added up over the processes, so that a step is that of one process
with the whole batch, but for rounding and for the draws of dropout.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen
from typing import TYPE_CHECKING, NamedTuple, Protocol

from exparity.core.errors import ExparityError, InputError

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)
_KILL_ON_PARENT_DEATH = 1
"""PR_SET_PDEATHSIG of Linux's prctl."""
_POLL_SECONDS = 0.1
"""Time between two looks at the processes of a team."""


class Team(Protocol):
    """What a training asks of the processes that it runs in.

    Attributes:
        index: number of this process; 0 writes snapshots.
    """

    index: int

    def rows(self, n_rows: int) -> slice:
        """Return the rows of a batch that this process runs; none if there are too few."""

    def total(self, *values: float) -> list[float]:
        """Return the sums of numbers over all processes."""

    def add_gradients(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """Replace gradients by their sums over all processes."""


class Alone:
    """A training in this process alone."""

    index = 0

    def rows(self, n_rows: int) -> slice:
        """Return all rows."""
        return slice(n_rows)

    def total(self, *values: float) -> list[float]:
        """Return the numbers as they are."""
        return [*values]

    def add_gradients(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """Leave the gradients as they are."""


class Joined:
    """One of several processes, which accelerate connects: NCCL between GPUs, else Gloo."""

    def __init__(self, place: Place) -> None:
        import torch.distributed as distributed
        from accelerate import Accelerator

        on_gpu = place.device != "cpu"
        if on_gpu:
            import torch

            torch.cuda.set_device(place.index)
        distributed.init_process_group(
            "nccl" if on_gpu else "gloo",
            init_method=f"file://{place.meeting}",
            rank=place.index,
            world_size=place.count,
        )
        self._accelerator = Accelerator(cpu=not on_gpu)
        self.index = place.index
        self.count = place.count

    def rows(self, n_rows: int) -> slice:
        """Return consecutive rows; no process has two more than another."""
        first = n_rows * self.index // self.count
        last = n_rows * (self.index + 1) // self.count
        return slice(first, last)

    def total(self, *values: float) -> list[float]:
        """Return the sums of numbers over all processes."""
        import torch

        numbers = torch.tensor(values, dtype=torch.float64, device=self._accelerator.device)
        sums: list[float] = self._accelerator.reduce(numbers, "sum").tolist()
        return sums

    def add_gradients(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """Replace gradients by their sums over all processes; one without rows has none."""
        import torch

        for parameter in parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            parameter.grad = self._accelerator.reduce(parameter.grad, "sum")


@dataclass(frozen=True)
class Place:
    """Place of a process in its team.

    Attributes:
        index: its number, from 0.
        count: processes of the team.
        meeting: file by which they find each other.
        device: ``cpu``, or ``cuda`` for the GPU of the process's number.
    """

    index: int
    count: int
    meeting: Path
    device: str

    def environment(self) -> dict[str, str]:
        """Return the variables by which accelerate and torch know the place."""
        numbers = {"RANK": self.index, "LOCAL_RANK": self.index}
        numbers |= {"WORLD_SIZE": self.count, "LOCAL_WORLD_SIZE": self.count}
        on_cpu = {"ACCELERATE_USE_CPU": "true"} if self.device == "cpu" else {}
        # All processes are on this machine, whose own name may lead nowhere.
        loopback = {"GLOO_SOCKET_IFNAME": "lo0" if sys.platform == "darwin" else "lo"}
        return {**{name: str(value) for name, value in numbers.items()}, **on_cpu, **loopback}


class Command(NamedTuple):
    """A process to run.

    Attributes:
        arguments: the program and its arguments.
        variables: environment variables beside those of this process.
        messages: file for what it says; where this process's messages go if None.
    """

    arguments: list[str]
    variables: Mapping[str, str]
    messages: Path | None = None


def end_with_parent(parent: int) -> None:
    """Have this process end with the one that started it, killed or not, where Linux can."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_KILL_ON_PARENT_DEATH, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(f"the process {parent} that started this one has ended")


def run_together(processes: Sequence[Command], reason: Path) -> None:
    """Run processes until all have ended, or one has failed.

    Args:
        processes: what to run.
        reason: file in which the first process that fails leaves its reason; see :func:`failing`.

    Raises:
        InputError, ExparityError: a process has failed, with the reason that it left.
    """
    with ExitStack() as stack:
        running = {}
        for command in processes:
            output = (
                None
                if command.messages is None
                else stack.enter_context(command.messages.open("wb"))
            )
            environment = {**os.environ, **command.variables}
            process = Popen(command.arguments, env=environment, stdout=output, stderr=output)
            stack.callback(_end, process)
            running[process] = command
        while running:
            time.sleep(_POLL_SECONDS)
            for process in [p for p in running if p.poll() is not None]:
                command = running.pop(process)
                if process.returncode:
                    raise _failure(command, reason, process.returncode)


def _end(process: Popen[bytes]) -> None:
    """End a process of a team in which another one has failed; it holds nothing unfinished."""
    process.kill()
    process.wait()


@contextmanager
def failing(reason: Path) -> Iterator[None]:
    """Leave the reason for which the block fails in a file, where none is yet, and exit."""
    try:
        yield
    except ExparityError as error:
        with suppress(FileExistsError), reason.open("x", encoding="utf-8") as file:
            json.dump([isinstance(error, InputError), str(error)], file)
        sys.exit(1)


def _failure(command: Command, reason: Path, code: int) -> ExparityError:
    """Return the error of a process that has ended with a code, and log its messages."""
    try:
        is_input, message = json.loads(reason.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        if command.messages is not None:
            log.error(command.messages.read_text(encoding="utf-8", errors="replace"))
        return ExparityError(
            f"a process of the training ended with code {code}; its messages are above"
        )
    return InputError(message) if is_input else ExparityError(message)
