"""A job's own process: it hands the job over, passes signals on, and ends as the worker ends."""

from __future__ import annotations

import os
import select
import signal
import socket
from contextlib import contextmanager, suppress

from exparity.warm import messages
from exparity.warm.process import FORWARDED, request_of_job

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

_PATIENCE = 60  # seconds until a server is given up: it does not answer while it imports torch


def hand_over(name: str) -> None:
    """Have the server do this process's job; return where it cannot, with no worker left."""
    request = request_of_job()
    with _signals_kept() as forward_to:
        status = _served(name, request, forward_to)
    if status is not None:
        _end_as(status)


def _served(name: str, request: dict[str, object], forward_to: Callable[[int], None]) -> int | None:
    """Return the wait status of the job's worker, or None if there is none any more."""
    server: int | None = None
    workers: list[int] = []
    with socket.socket(socket.AF_UNIX, messages.KIND) as connection:
        connection.settimeout(_PATIENCE)
        try:
            connection.connect(f"\0{name}")
            server = messages.process_of_this_user(connection)
            if server is None:
                return None
            messages.receive(connection)  # a server that is stopped must not hold the files
            messages.send(connection, request, (0, 1, 2))
            workers = messages.receive(connection, 1)[1]
            if workers:
                forward_to(workers[0])
                return _status(connection, workers[0])
        except TimeoutError:
            _end_server(server)
        except (OSError, EOFError):
            pass
    for worker in workers:  # it dies with the server; two must not do one job
        _wait(worker)
    return None


def _end_server(server: int | None) -> None:
    """Kill a server that does not answer, so that no other job has to wait as long."""
    with suppress(OSError), open(f"/proc/{server}/comm", encoding="utf-8") as name:
        if server and name.read().strip() == messages.SERVER:
            os.kill(server, signal.SIGKILL)


def _status(connection: socket.socket, worker: int) -> int:
    """Have a worker begin, and return its wait status."""
    # Without this it does not begin: who gave up does the job itself. A signal may have ended it.
    with suppress(BrokenPipeError):
        messages.send(connection, {})
    _wait(worker, connection.fileno())
    try:
        ended = messages.receive(connection)
    except ConnectionResetError:  # once, where a worker has ended before it read the message above
        ended = messages.receive(connection)
    return int(ended[0]["status"])


def _wait(*files: int) -> None:
    """Wait until one of some files is readable; the file of a process is once it has ended."""
    poll = select.poll()
    for file in files:
        poll.register(file, select.POLLIN)
    poll.poll()


@contextmanager
def _signals_kept() -> Iterator[Callable[[int], None]]:
    """Let signals end this process; yield a function that has them passed on to a worker instead.

    A server that imports torch may take many seconds to answer, in which nothing is to be saved,
    and a worker whose client is gone does not begin.
    """
    handlers = {n: h for n in FORWARDED if (h := signal.getsignal(n)) != signal.SIG_IGN}

    def forward_to(worker: int) -> None:
        def forward(number: int, frame: FrameType | None) -> None:
            with suppress(ProcessLookupError):  # its status is on the way
                signal.pidfd_send_signal(worker, number)

        for number in handlers:
            signal.signal(number, forward)

    for number in handlers:
        signal.signal(number, signal.SIG_DFL)
    try:
        yield forward_to
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _end_as(status: int) -> None:
    """End this process with the wait status of another."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))
