"""A job's own process: it hands the job over, passes signals on, and ends as the worker ends."""

from __future__ import annotations

import os
import resource
import select
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from exparity.warm import messages
from exparity.warm.process import FORWARDED, identity, settings

_PATIENCE = 300  # seconds until a server that does not answer is given up


def hand_over(address: str) -> None:
    """Have the server do the job of this process, and end as its worker ends.

    Returns only where the job has to be done here: there is no server, it cannot do this job, or it
    was killed on the way. No worker is left then.

    Args:
        address: path of the server's socket.
    """
    request = {"identity": identity(), "settings": settings()}
    with socket.socket(socket.AF_UNIX) as connection, _signals_kept() as forward_to:
        status = _served(connection, address, request, forward_to)
    if status is not None:
        _end_as(status)


def _served(
    connection: socket.socket,
    address: str,
    request: dict[str, Any],
    forward_to: Callable[[int], None],
) -> int | None:
    """Return the wait status of the job's worker, or None if there is none any more."""
    worker = None
    try:
        connection.settimeout(_PATIENCE)
        connection.connect(address)
        messages.send(connection, request, (0, 1, 2))
        _, workers = messages.receive(connection, 1)
        if not workers:
            return None
        worker = workers[0]
        forward_to(worker)
        connection.settimeout(None)
        return int(messages.receive(connection)[0]["status"])
    except (OSError, EOFError):
        if worker is not None:
            _kill(worker)
        return None


def _kill(process: int) -> None:
    """Kill a process and wait until it is gone; two must not do one job."""
    try:
        signal.pidfd_send_signal(process, signal.SIGKILL)
    except ProcessLookupError:
        return
    poll = select.poll()
    poll.register(process, select.POLLIN)
    poll.poll()


@contextmanager
def _signals_kept() -> Iterator[Callable[[int], None]]:
    """Keep the signals that arrive, until it is known who they are for.

    Yields:
        A function that is given the worker they are for. Without one they are this process's own
        again in the end.
    """
    kept: list[int] = []
    workers: list[int] = []

    def forward() -> None:
        while kept:
            try:
                signal.pidfd_send_signal(workers[0], kept.pop(0))
            except ProcessLookupError:  # its status is on the way
                return

    def catch(number: int, frame: FrameType | None) -> None:
        kept.append(number)
        if workers:
            forward()

    def forward_to(worker: int) -> None:
        workers.append(worker)
        forward()

    own = {n: h for n in FORWARDED if (h := signal.getsignal(n)) != signal.SIG_IGN}
    for number in own:
        signal.signal(number, catch)
    try:
        yield forward_to
    finally:
        for number, handler in own.items():
            signal.signal(number, handler)
        for left in kept:
            os.kill(os.getpid(), left)


def _end_as(status: int) -> None:
    """End this process with the wait status of another."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the worker's, if any, is the one to read
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))
