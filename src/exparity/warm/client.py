"""A job's own process: it hands the job over, passes signals on, and ends as the worker ends."""

from __future__ import annotations

import os
import resource
import select
import signal
import socket
import sys
from contextlib import contextmanager, suppress

from exparity.warm import messages
from exparity.warm.process import FORWARDED, process_identity, settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType
    from typing import Any

# Seconds until a server is given up: it does not answer while it imports torch, which takes longer
# than this only where jobs that import it themselves are as slow.
_PATIENCE = 60


def hand_over(name: str) -> None:
    """Have the server do the job of this process, and end as its worker ends.

    Returns only where the job has to be done here: there is no server, it cannot do this job, or it
    was killed on the way. No worker is left then.
    """
    request = {"identity": process_identity(), "settings": settings()}
    with _signals_held() as forward_to:
        status = _served(name, request, forward_to)
    if status is not None:
        _end_as(status)


def _served(name: str, request: dict[str, Any], forward_to: Callable[[int], None]) -> int | None:
    """Return the wait status of the job's worker, or None if there is none any more."""
    workers: list[int] = []
    try:
        with socket.socket(socket.AF_UNIX, messages.KIND) as connection:
            connection.settimeout(_PATIENCE)
            connection.connect(f"\0{name}")
            server = messages.process_of_this_user(connection)
            if server is None:
                return None
            try:
                return _status(connection, request, workers, forward_to)
            except TimeoutError:
                _end_server(server)
    except (OSError, EOFError):
        pass
    for worker in workers:
        _kill(worker)
    return None


def _end_server(server: int) -> None:
    """Kill a server that does not answer, so that no other job has to wait as long."""
    print(
        f"exparity: the server of warm workers has not answered for {_PATIENCE:g} s; this job and "
        "later ones of the run do without it",
        file=sys.stderr,
    )
    with open(f"/proc/{server}/comm", encoding="utf-8") as name:
        if name.read().strip() == messages.SERVER:
            os.kill(server, signal.SIGKILL)


def _status(
    connection: socket.socket,
    request: dict[str, Any],
    workers: list[int],
    forward_to: Callable[[int], None],
) -> int | None:
    """Add the job's worker to the list, if it gets one, and return its wait status."""
    messages.receive(connection)  # a server that is stopped must not hold this process's files
    messages.send(connection, request, (0, 1, 2))
    workers += messages.receive(connection, 1)[1]
    if not workers:
        return None
    forward_to(workers[0])
    # Without this it does not begin: who gave up does the job itself. A signal may have ended it.
    with suppress(BrokenPipeError):
        messages.send(connection, {})
    poll = select.poll()
    for file in (connection.fileno(), workers[0]):
        poll.register(file, select.POLLIN)
    poll.poll()
    try:
        ended = messages.receive(connection)
    except ConnectionResetError:  # once, where a worker has ended before it read the message above
        ended = messages.receive(connection)
    return int(ended[0]["status"])


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
def _signals_held() -> Iterator[Callable[[int], None]]:
    """Hold signals back; yield a function that is given the worker that they are for.

    Without one they are this process's own in the end.
    """
    own = {n: h for n in FORWARDED if (h := signal.getsignal(n)) != signal.SIG_IGN}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, own)

    def forward_to(worker: int) -> None:
        def forward(number: int, frame: FrameType | None) -> None:
            with suppress(ProcessLookupError):  # its status is on the way
                signal.pidfd_send_signal(worker, number)

        for number in own:
            signal.signal(number, forward)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    try:
        yield forward_to
    finally:
        for number, handler in own.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
