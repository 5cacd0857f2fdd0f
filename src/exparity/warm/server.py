"""The server: it imports what jobs import, and forks a worker for each."""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
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
from typing import Any, NoReturn

import exparity
from exparity.warm import messages
from exparity.warm.folder import remove
from exparity.warm.process import out_of_reach, process_identity, read_by_imports, take_over

_ROOT = str(Path(exparity.__file__).parent)
log = logging.getLogger(__name__)
_DIE_WITH_PARENT, _SET_NAME = 1, 15  # PR_SET_PDEATHSIG and PR_SET_NAME of Linux
_PATIENCE = 10  # seconds until a client has sent what it wants; it has it ready when it connects
# What makes the start of a job slow, and does nothing but define when it is imported. Plug-ins are
# imported by each job, as they are then.
_PACKAGES = frozenset(
    {
        "accelerate",
        "captum",
        "exparity",
        "huggingface_hub",
        "lime",
        "llvmlite",
        "numba",
        "numpy",
        "pandas",
        "pyarrow",
        "safetensors",
        "scipy",
        "shap",
        "sklearn",
        "tokenizers",
        "torch",
        "transformers",
    }
)
# A thread of the allocator that pyarrow brings, which takes care of forks itself.
_HARMLESS_THREADS = frozenset({"jemalloc_bg_thd"})


@dataclass
class _Job:
    """A job that a worker is at.

    Attributes:
        connection: to its client.
        worker: process id.
        exit: a file that is readable when the worker has ended.
        notes: a file in which the worker writes what it has imported, or why it did not begin.
    """

    connection: socket.socket
    worker: int
    exit: int
    notes: int


@dataclass
class Server:
    """Serves the jobs of a run, until the run closes the server's standard input.

    It reads nothing that a client sends: each is given a worker at once, which does. What a client
    does, or leaves undone, is therefore no matter of the server and of other clients.

    Attributes:
        listener: a socket that listens.
        job: does the job of ``sys.argv`` and ends the process; it gets a function to call before.
    """

    listener: socket.socket
    job: Callable[[Callable[[], object]], object]
    _jobs: list[_Job] = field(default_factory=list)
    _events: select.epoll = field(default_factory=select.epoll)
    _calls: dict[int, Callable[[], None]] = field(default_factory=dict)
    _sources: dict[str, tuple[int, int] | None] = field(default_factory=dict)
    _refused: set[str] = field(default_factory=set)
    _open: bool = True
    _variables: frozenset[str] = field(default_factory=lambda: frozenset(os.environ))
    _identity: dict[str, Any] = field(
        default_factory=lambda: json.loads(json.dumps(process_identity()))
    )

    def run(self, ahead: Sequence[str] = ()) -> None:
        """Serve until the run has ended and the last worker as well."""
        gc.disable()
        self._watch(self.listener.fileno(), self._accept)
        self._watch(sys.stdin.fileno(), self._close)
        self._learn(ahead)
        while self._open or self._jobs:
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
        """Fork a worker for a client."""
        if not self._open:  # since the run ended with this event
            return
        try:
            with ExitStack() as undo:
                connection = undo.enter_context(self.listener.accept()[0])
                if not messages.is_of_this_user(connection):
                    return
                if threads := _threads() - _HARMLESS_THREADS:
                    self._tell(f"threads before the fork ({', '.join(sorted(threads))})")
                    return
                notes = os.memfd_create("notes")
                undo.callback(os.close, notes)
                server = os.getpid()
                gc.freeze()
                with warnings.catch_warnings():  # of threads, from Python 3.12 on, harmless or not
                    warnings.simplefilter("ignore", DeprecationWarning)
                    worker = os.fork()
                if not worker:
                    self._work(server, connection, notes)
                undo.callback(os.waitpid, worker, 0)
                undo.callback(os.kill, worker, signal.SIGKILL)
                job = _Job(connection, worker, os.pidfd_open(worker), notes)
                undo.pop_all()
        except OSError as error:  # no process or file is left, until a job has ended
            self._tell(str(error))
            time.sleep(0.1)
            return
        self._jobs.append(job)
        self._watch(job.exit, lambda: self._ended(job))
        self._watch(connection.fileno(), lambda: self._left(job), select.EPOLLRDHUP)

    def _tell(self, refusal: str) -> None:
        """Say once why jobs cannot be served."""
        if refusal not in self._refused:
            self._refused.add(refusal)
            log.warning("jobs start anew, which takes seconds each: %s", refusal)

    def _work(self, server: int, connection: socket.socket, notes: int) -> NoReturn:
        """Do the job of a client in this process, which was forked for it."""
        code = 1
        try:
            self._events.close()
            self.listener.close()
            for other in self._jobs:
                other.connection.close()
                os.close(other.exit)
                os.close(other.notes)
            before = set(sys.modules)
            if refusal := self._prepare(server, connection):
                _note(notes, refusal=refusal)
            else:
                gc.enable()
                self.job(lambda: _note(notes, imports=_imported_since(before)))
        except SystemExit as end:
            if isinstance(end.code, str):
                print(end.code, file=sys.stderr)
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            with suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    def _prepare(self, server: int, connection: socket.socket) -> str:
        """Take over what the client hands over; return why this cannot be, empty if all is done."""
        control = ctypes.CDLL(None).prctl
        control(_DIE_WITH_PARENT, signal.SIGKILL)
        if os.getppid() != server:
            os._exit(1)
        try:
            connection.settimeout(_PATIENCE)
            messages.send(connection, {})
            request, files = messages.receive(connection, 3)
            if refusal := self._refusal(request):
                return refusal
            wanted = request["settings"]
            wanted["environment"] = self._set_by_imports() | wanted["environment"]
            control(_SET_NAME, b"warm %d" % wanted["process"])  # Linux keeps 15 characters
            os.setpgid(0, 0)
            take_over(wanted, files)
            process = os.pidfd_open(os.getpid())
            messages.send(connection, {}, [process])
            os.close(process)
            connection.settimeout(None)  # a client may be stopped
            messages.receive(connection)
            connection.close()
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
        if reach := out_of_reach(request["settings"]):
            return f"another {reach}"
        if any(_state(path) != state for path, state in self._sources.items()):
            return "exparity's own files have changed"
        return ""

    def _set_by_imports(self) -> dict[str, str]:
        """Return the variables that imports have set, as they would in the process of a job."""
        now = os.environ.items()
        return {k: v for k, v in now if k not in self._variables and read_by_imports(k)}

    def _left(self, job: _Job) -> None:
        """End the worker of a client that is gone."""
        if job not in self._jobs:
            return
        self._unwatch(job.connection.fileno())
        with suppress(ProcessLookupError):
            os.killpg(job.worker, signal.SIGKILL)

    def _ended(self, job: _Job) -> None:
        self._jobs.remove(job)
        _, status = os.waitpid(job.worker, 0)
        self._unwatch(job.exit)
        self._unwatch(job.connection.fileno())
        with suppress(OSError):
            messages.send(job.connection, {"status": status})
        job.connection.close()
        os.close(job.exit)
        notes = {}
        os.lseek(job.notes, 0, os.SEEK_SET)
        with open(job.notes, encoding="utf-8") as file, suppress(ValueError):  # it was killed
            notes = json.load(file)
        if "refusal" in notes:
            self._tell(notes["refusal"])
        if self._open:
            self._learn(notes.get("imports", ()))

    def _learn(self, names: Sequence[str]) -> None:
        """Import what a worker had to import; of ``module:function`` the function is called."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name in names:
                with suppress(Exception):
                    place, _, function = name.partition(":")
                    found = importlib.import_module(place)
                    if function:
                        getattr(found, function)()
        for module in [*sys.modules.values()]:
            path = getattr(module, "__file__", None) or ""
            if path.startswith(_ROOT) and path not in self._sources:
                self._sources[path] = _state(path)


def _note(file: int, **notes: object) -> None:
    """Write what the server is to know of this worker."""
    os.write(file, json.dumps(notes).encode())


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
    """Serve on a socket until standard input ends, and remove the socket's folder."""
    logging.basicConfig(format="exparity: %(message)s")
    # The run closes standard input when it has ended. A terminal and a batch system send these to
    # all processes, and without the server workers end before they have saved what they have.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    module, _, function = job.partition(":")
    with socket.socket(fileno=listener) as opened:
        folder = Path(opened.getsockname()).parent
        try:
            Server(opened, getattr(importlib.import_module(module), function)).run(ahead)
        finally:
            remove(folder)


if __name__ == "__main__":
    if not sys.flags.safe_path:
        sys.path[0] = str(Path(sys.executable).parent)  # as where the command exparity begins
    main(int(sys.argv[1]), *sys.argv[2:])
