"""The server: it imports what jobs import, and forks a worker for each."""

from __future__ import annotations

import ctypes
import gc
import logging
import os
import select
import signal
import socket
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NoReturn

import exparity
from exparity.warm import messages
from exparity.warm.process import process_identity, read_by_imports, take_over

_ROOT = str(Path(exparity.__file__).parent)
log = logging.getLogger(__name__)
_DIE_WITH_PARENT, _SET_NAME = 1, 15  # PR_SET_PDEATHSIG and PR_SET_NAME of Linux
_PATIENCE = 10  # seconds until a client has sent what it wants; it has it ready when it connects
# What makes the start of a job slow, and does nothing but define when it is imported. Plug-ins are
# imported by each job, as they are then.
_PACKAGES = {
    "accelerate", "captum", "exparity", "huggingface_hub", "lime", "llvmlite", "numba", "numpy",
    "pandas", "pyarrow", "safetensors", "scipy", "shap", "sklearn", "tokenizers", "torch",
    "transformers",
}  # fmt: skip
# A thread of the allocator that pyarrow brings, which takes care of forks itself.
_HARMLESS_THREADS = frozenset({"jemalloc_bg_thd"})


@dataclass(eq=False)
class _Worker:
    """A process that does jobs, one after the other.

    Attributes:
        process: its id.
        exit: a file that is readable when it has ended.
        channel: on which it tells how a job has ended, or why it did not begin, and what it has
            imported; and is handed the next one.
        client: connection to the client of its job; None while it waits for one.
    """

    process: int
    exit: int
    channel: socket.socket
    client: socket.socket | None


@dataclass
class Server:
    """Serves the jobs of a run, until the run closes the server's standard input.

    It reads nothing that a client sends: each is given a worker at once, which does. What a client
    does, or leaves undone, is therefore no matter of the server and of other clients.

    Attributes:
        listener: a socket that listens.
        job: does the job of ``sys.argv`` and ends the process, after a call of the function that
            it gets; or returns the exit code, and after a 0 its worker waits for the next job.
    """

    listener: socket.socket
    job: Callable[[Callable[[], object]], int]
    _workers: list[_Worker] = field(default_factory=list)
    _events: select.epoll = field(default_factory=select.epoll)
    _calls: dict[int, Callable[[], None]] = field(default_factory=dict)
    _sources: dict[str, tuple[int, int] | None] = field(default_factory=dict)
    _refused: set[str] = field(default_factory=set)
    _open: bool = True
    _variables: frozenset[str] = field(default_factory=lambda: frozenset(os.environ))
    _identity: dict[str, Any] = field(default_factory=process_identity)

    def run(self, ahead: Sequence[str] = ()) -> None:
        """Serve until the run has ended and the last worker as well."""
        gc.disable()
        self._watch(self.listener.fileno(), self._accept)
        self._watch(sys.stdin.fileno(), self._close)
        self._learn(ahead)
        while self._open or any(worker.client for worker in self._workers):
            # A call may close files, and others get their numbers.
            for call in [self._calls[file] for file, _ in self._events.poll()]:
                call()

    def _watch(self, file: int, call: Callable[[], None], event: int = select.EPOLLIN) -> None:
        self._events.register(file, event)
        self._calls[file] = call

    def _unwatch(self, file: int) -> None:
        if self._calls.pop(file, None):
            self._events.unregister(file)

    def _close(self) -> None:
        """The run has ended: take no more jobs."""
        self._open = False
        for file in (self.listener.fileno(), sys.stdin.fileno()):
            self._unwatch(file)
        self.listener.close()

    def _accept(self) -> None:
        """Hand a client to a worker that waits, or to a new one."""
        if not self._open:  # since the run ended with this event
            return
        try:
            with ExitStack() as undo:
                client = undo.enter_context(self.listener.accept()[0])
                if messages.process_of_this_user(client) is None:
                    return
                worker = next((one for one in self._workers if one.client is None), None)
                if worker is not None:
                    messages.send(worker.channel, {}, [client.fileno()])
                    worker.client = client
                elif threads := _threads() - _HARMLESS_THREADS:
                    self._tell(f"threads before the fork ({', '.join(sorted(threads))})")
                    return
                else:
                    worker = self._forked(client, undo)
                undo.pop_all()
        except OSError as error:  # no process or file is left, until a job has ended
            self._tell(str(error))
            time.sleep(0.1)
            return
        self._watch(client.fileno(), lambda: self._left(worker, client), select.EPOLLRDHUP)

    def _forked(self, client: socket.socket, undo: ExitStack) -> _Worker:
        """Fork a worker for a client."""
        channel, of_worker = map(undo.enter_context, socket.socketpair(type=messages.KIND))
        server = os.getpid()
        gc.freeze()
        with warnings.catch_warnings():  # of threads, from Python 3.12 on, harmless or not
            warnings.simplefilter("ignore", DeprecationWarning)
            process = os.fork()
        if not process:
            channel.close()
            self._work(server, client, of_worker)
        undo.callback(os.waitpid, process, 0)
        undo.callback(os.kill, process, signal.SIGKILL)
        worker = _Worker(process, os.pidfd_open(process), channel, client)
        of_worker.close()
        self._workers.append(worker)
        self._watch(worker.exit, lambda: self._ended(worker))
        self._watch(channel.fileno(), lambda: self._told(worker))
        return worker

    def _tell(self, refusal: str) -> None:
        """Say once why jobs cannot be served."""
        if refusal not in self._refused:
            self._refused.add(refusal)
            log.warning("jobs start anew, which takes seconds each: %s", refusal)

    def _work(self, server: int, client: socket.socket, channel: socket.socket) -> NoReturn:
        """Do the job of a client in this process, which was forked for it, and the next."""
        try:
            self._events.close()
            self.listener.close()
            for other in self._workers:
                other.channel.close()
                os.close(other.exit)
                if other.client:
                    other.client.close()
            self._set_ahead = self._set_by_imports()
            while not (refusal := self._prepare(server, client)):
                self._do(channel)
                client = socket.socket(fileno=messages.receive(channel, 1)[1][0])
            messages.send(channel, {"refusal": refusal})
        finally:
            os._exit(1)

    def _do(self, channel: socket.socket) -> None:
        """Do a job.

        The process ends with one that fails, or loads code of the user's own, which may change
        until the next.
        """
        before = set(sys.modules)

        def note(**facts: int) -> None:
            try:
                messages.send(channel, {"imports": _imported_since(before), **facts})
            except OSError:  # too many for a message: the next worker imports them again
                messages.send(channel, facts)

        gc.enable()
        code, ends = 1, True
        try:
            code = self.job(note)
            ends = code != 0 or _has_own_code(before)
        except SystemExit as end:
            if isinstance(end.code, str):
                print(end.code, file=sys.stderr)
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        except BaseException:
            sys.excepthook(*sys.exc_info())
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        if ends:
            note()
            os._exit(code)
        _ignore_signals()
        with open(os.devnull, "r+b", buffering=0) as nothing:
            for number in range(3):  # who reads what the job says waits for its end
                os.dup2(nothing.fileno(), number)
        self._learn(())
        note(status=0)

    def _prepare(self, server: int, client: socket.socket) -> str:
        """Take over what the client hands over; return why this cannot be, empty if all is done."""
        control = ctypes.CDLL(None).prctl
        control(_DIE_WITH_PARENT, signal.SIGKILL)
        if os.getppid() != server:
            os._exit(1)
        try:
            client.settimeout(_PATIENCE)
            messages.send(client, {})
            request, files = messages.receive(client, 3)
            if refusal := self._refusal(request):
                return refusal
            wanted = request["settings"]
            wanted["environment"] = self._set_ahead | wanted["environment"]
            control(_SET_NAME, b"warm %d" % wanted["process"])  # Linux keeps 15 characters
            os.setpgid(0, 0)
            take_over(wanted, files, self._identity["ignored"])
            process = os.pidfd_open(os.getpid())
            messages.send(client, {}, [process])
            os.close(process)
            client.settimeout(None)  # a client may be stopped
            messages.receive(client)
            client.close()
        except (OSError, EOFError):  # the client is gone, or is about to meet the same
            os._exit(1)
        except Exception as error:
            return f"a request that fails ({type(error).__name__}: {error})"
        return ""

    def _refusal(self, request: dict[str, Any]) -> str:
        """Return why a job cannot be served; empty if it can."""
        other, own = request["identity"], self._identity
        for name in own | other:
            if other.get(name) != own.get(name):
                return f"another {name}{_differing(other.get(name), own.get(name))}"
        if any(_state(path) != state for path, state in self._sources.items()):
            return "exparity's own files have changed"
        return ""

    def _set_by_imports(self) -> dict[str, str]:
        """Return the variables that imports have set, as they would in the process of a job."""
        now = os.environ.items()
        return {k: v for k, v in now if k not in self._variables and read_by_imports(k)}

    def _left(self, worker: _Worker, client: socket.socket) -> None:
        """End the worker of a client that is gone."""
        if worker.client is not client:
            return
        self._unwatch(client.fileno())
        with suppress(ProcessLookupError):
            os.killpg(worker.process, signal.SIGKILL)

    def _told(self, worker: _Worker) -> None:
        """Take in what a worker says."""
        try:
            note, _ = messages.receive(worker.channel)
        except (OSError, EOFError):  # it ends
            self._unwatch(worker.channel.fileno())
            return
        if "refusal" in note:
            self._tell(note["refusal"])
        if "status" in note:
            self._release(worker, note["status"])
        if self._open:
            self._learn(note.get("imports", ()))

    def _ended(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        _, status = os.waitpid(worker.process, 0)
        worker.channel.setblocking(False)
        while worker.channel.fileno() in self._calls:
            self._told(worker)
        self._unwatch(worker.exit)
        self._release(worker, status)
        worker.channel.close()
        os.close(worker.exit)

    def _release(self, worker: _Worker, status: int) -> None:
        """Tell the client of a worker how its job has ended."""
        if worker.client is None:
            return
        self._unwatch(worker.client.fileno())
        with suppress(OSError):
            messages.send(worker.client, {"status": status})
        worker.client.close()
        worker.client = None

    def _learn(self, names: Sequence[str]) -> None:
        """Import what a worker had to import; of ``module:function`` the function is called."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name in names:
                with suppress(Exception):
                    found = resolve_name(name)
                    if ":" in name:
                        found()
        for module in [*sys.modules.values()]:
            path = getattr(module, "__file__", None) or ""
            if path.startswith(_ROOT) and path not in self._sources:
                self._sources[path] = _state(path)


def _has_own_code(known: set[str]) -> bool:
    """Return whether this process has imported more than installed packages."""
    places = (_ROOT, sys.prefix, sys.base_prefix)
    files = (getattr(sys.modules[name], "__file__", None) for name in sys.modules.keys() - known)
    return any(file and not file.startswith(places) for file in files)


def _imported_since(before: set[str]) -> list[str]:
    """Return the modules that this process has imported and the next may need."""
    return [
        name for name in sys.modules if name not in before and name.partition(".")[0] in _PACKAGES
    ]


def _differing(first: object, second: object) -> str:
    """Return the keys in which two settings differ, if they have any."""
    if not (isinstance(first, dict) and isinstance(second, dict)):
        return ""
    keys = sorted(k for k in first.keys() | second.keys() if first.get(k) != second.get(k))
    return f" ({', '.join(keys)})"


def _threads() -> set[str]:
    """Return the names of all threads of this process but the first."""
    tasks = Path("/proc/self/task")
    return {
        (task / "comm").read_text(encoding="utf-8").strip()
        for task in tasks.iterdir()
        if task.name != str(os.getpid())
    }


def _state(path: str) -> tuple[int, int] | None:
    """Return what changes with a file."""
    try:
        facts = os.stat(path)
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_size


def main(listener: int, job: str, *ahead: str) -> None:
    """Serve on a socket until standard input ends."""
    logging.basicConfig(format="exparity: %(message)s")
    ctypes.CDLL(None).prctl(_SET_NAME, messages.SERVER.encode())
    with socket.socket(fileno=listener) as opened:
        opened.listen(128)  # for clients this process is the other side from now on
        server = Server(opened, resolve_name(job))
        _ignore_signals()
        server.run(ahead)


def _ignore_signals() -> None:
    """Ignore what a terminal and a batch system send to all processes.

    The run closes the server's standard input when it has ended. Without the server, workers end
    before they have saved what they have.
    """
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


if __name__ == "__main__":
    if not sys.flags.safe_path:
        sys.path[0] = str(Path(sys.executable).parent)  # as where the command exparity begins
    main(int(sys.argv[1]), *sys.argv[2:])
