"""A job's own process: it hands the job over, passes signals on, and ends as the worker ends."""

from __future__ import annotations

import os
import select
import signal
import socket
from contextlib import closing, suppress

from exparity.warm import messages
from exparity.warm.process import FORWARDED, request_of_job

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

_PATIENCE = 60  # seconds until a server is given up: it does not answer while it imports torch


def hand_over(name: str) -> None:
    """Have the server do this process's job; return where it cannot, with no worker left."""
    request = request_of_job()
    with closing(_Signals()) as signals:
        status = _served(name, request, signals)
    if status is not None:
        _end_as(status)


class _Signals:
    """Signals end this process until there is a worker, and are passed on to it from then on.

    A server that imports torch may take many seconds to answer, in which nothing is to be saved,
    and a worker whose client is gone does not begin.
    """

    def __init__(self) -> None:
        self._handlers = {n: h for n in FORWARDED if (h := signal.getsignal(n)) != signal.SIG_IGN}
        # A handler in Python would not run for a signal that arrives just before a poll begins.
        self._arrived, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._before = signal.set_wakeup_fd(self._writer)
        for number in self._handlers:
            signal.signal(number, signal.SIG_DFL)

    def keep(self) -> None:
        """Keep signals from now on, until :meth:`wait` passes them on."""
        for number in self._handlers:
            signal.signal(number, _do_nothing)

    def wait(self, worker: int, *files: int) -> None:
        """Wait until a worker has ended or one of some files is readable; pass signals on to it."""
        poll = select.poll()
        for file in (worker, self._arrived, *files):  # that of a process is once it has ended
            poll.register(file, select.POLLIN)
        while {file for file, _ in poll.poll()} == {self._arrived}:
            for number in os.read(self._arrived, 1):
                with suppress(ProcessLookupError):  # its status is on the way
                    signal.pidfd_send_signal(worker, number)

    def close(self) -> None:
        """Give this process its own handlers back."""
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._before)
        os.close(self._arrived)
        os.close(self._writer)


def _do_nothing(number: int, frame: FrameType | None) -> None:
    """Handle a signal that is read from a file."""


def _served(name: str, request: dict[str, object], signals: _Signals) -> int | None:
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
                signals.keep()
                return _status(connection, workers[0], signals)
        except TimeoutError:
            _end_server(server)
        except (OSError, EOFError):
            pass
    for worker in workers:  # it dies with the server; two must not do one job
        signals.wait(worker)
    return None


def _end_server(server: int | None) -> None:
    """Kill a server that does not answer, so that no other job has to wait as long."""
    with suppress(OSError), open(f"/proc/{server}/comm", encoding="utf-8") as name:
        if server and name.read().strip() == messages.SERVER:
            os.kill(server, signal.SIGKILL)


def _status(connection: socket.socket, worker: int, signals: _Signals) -> int:
    """Have a worker begin, and return its wait status."""
    # Without this it does not begin: who gave up does the job itself. A signal may have ended it.
    with suppress(BrokenPipeError):
        messages.send(connection, {})
    signals.wait(worker, connection.fileno())
    try:
        ended = messages.receive(connection)
    except ConnectionResetError:  # once, where a worker has ended before it read the message above
        ended = messages.receive(connection)
    return int(ended[0]["status"])


def _end_as(status: int) -> None:
    """End this process with the wait status of another."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))
