"""The server: it imports what jobs import, and forks a worker for each."""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import logging
import os
import selectors
import shutil
import signal
import socket
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import exparity
from exparity.warm import messages
from exparity.warm.accounting import name_of
from exparity.warm.process import READ_LATE, identity, out_of_reach, take_over

_ROOT = str(Path(exparity.__file__).parent)
log = logging.getLogger(__name__)
_DIE_WITH_PARENT, _SET_NAME = 1, 15  # PR_SET_PDEATHSIG and PR_SET_NAME of Linux
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
        imports: a file in which the worker writes what it has imported.
    """

    connection: socket.socket
    worker: int
    exit: int
    imports: int


@dataclass
class Server:
    """Serves the jobs of a run, until the run closes the server's standard input.

    Attributes:
        listener: a socket that listens.
        job: does the job of ``sys.argv`` and ends the process; it gets a function to call before.
    """

    listener: socket.socket
    job: Callable[[Callable[[], object]], object]
    _jobs: list[_Job] = field(default_factory=list)
    _events: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    _sources: dict[str, tuple[int, int] | None] = field(default_factory=dict)
    _refused: set[str] = field(default_factory=set)
    _open: bool = True
    _identity: dict[str, Any] = field(default_factory=lambda: json.loads(json.dumps(identity())))

    def run(self, ahead: Sequence[str] = ()) -> None:
        """Serve until the run has ended and the last worker as well.

        Args:
            ahead: modules to import before the first job.
        """
        gc.disable()
        self._watch(self.listener, self._accept)
        self._watch(sys.stdin.fileno(), self._close)
        self._learn(ahead)
        while self._open or self._jobs:
            for key, _ in self._events.select():
                key.data()

    def _watch(self, file: Any, call: Any) -> None:
        self._events.register(file, selectors.EVENT_READ, call)

    def _close(self) -> None:
        """The run has ended: take no more jobs."""
        self._open = False
        for file in (self.listener, sys.stdin.fileno()):
            self._events.unregister(file)
        self.listener.close()

    def _accept(self) -> None:
        connection, _ = self.listener.accept()
        try:
            request, files = messages.receive(connection, 3)
        except (OSError, EOFError):
            connection.close()
            return
        refusal = self._refusal(request)
        if refusal:
            if refusal not in self._refused:
                self._refused.add(refusal)
                log.warning("jobs that cannot be served warm run as without: %s", refusal)
            with suppress(OSError):
                messages.send(connection, {"refused": refusal})
            connection.close()
        else:
            self._fork(connection, request["settings"], files)
        for file in files:
            os.close(file)

    def _refusal(self, request: dict[str, Any]) -> str:
        """Return why a job cannot be served; empty if it can."""
        for name, value in request["identity"].items():
            if value != self._identity[name]:
                return f"another {name}{_differing(value, self._identity[name])}"
        if reach := out_of_reach(request["settings"]):
            return f"another {reach}"
        if any(_state(path) != state for path, state in self._sources.items()):
            return "exparity's own files have changed"
        threads = _threads() - _HARMLESS_THREADS
        return f"threads before the fork ({', '.join(sorted(threads))})" if threads else ""

    def _fork(self, connection: socket.socket, wanted: dict[str, Any], files: list[int]) -> None:
        imports = os.memfd_create("imports")
        server = os.getpid()
        gc.freeze()
        worker = os.fork()
        if not worker:
            self._events.close()
            self.listener.close()
            for other in self._jobs:
                other.connection.close()
            wanted["environment"] = self._set_by_imports() | wanted["environment"]
            _be_worker(server, connection, wanted, files, imports, self.job)
        job = _Job(connection, worker, os.pidfd_open(worker), imports)
        self._jobs.append(job)
        self._watch(job.exit, lambda: self._ended(job))
        self._watch(connection, lambda: self._left(job))

    def _set_by_imports(self) -> dict[str, str]:
        """Return the variables that imports have set, as they would in the process of a job."""
        known = READ_LATE | self._identity["environment"].keys()
        return {name: value for name, value in os.environ.items() if name not in known}

    def _left(self, job: _Job) -> None:
        """End the worker of a client that is gone."""
        if job not in self._jobs:
            return
        self._events.unregister(job.connection)
        with suppress(ProcessLookupError):
            os.killpg(job.worker, signal.SIGKILL)

    def _ended(self, job: _Job) -> None:
        self._jobs.remove(job)
        _, status = os.waitpid(job.worker, 0)
        self._events.unregister(job.exit)
        with suppress(KeyError):
            self._events.unregister(job.connection)
        with suppress(OSError):
            messages.send(job.connection, {"status": status})
        job.connection.close()
        os.close(job.exit)
        os.lseek(job.imports, 0, os.SEEK_SET)
        with open(job.imports, encoding="utf-8") as file:
            names = file.read().split()
        if self._open:
            self._learn(names)

    def _learn(self, names: Sequence[str]) -> None:
        """Import what a worker had to import."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name in names:
                with suppress(Exception):
                    importlib.import_module(name)
        for module in [*sys.modules.values()]:
            path = getattr(module, "__file__", None) or ""
            if path.startswith(_ROOT) and path not in self._sources:
                self._sources[path] = _state(path)


def _be_worker(
    server: int,
    connection: socket.socket,
    wanted: dict[str, Any],
    files: list[int],
    imports: int,
    job: Callable[[Callable[[], object]], object],
) -> NoReturn:
    """Do a job in this process, which was forked for it."""
    code = 1
    try:
        control = ctypes.CDLL(None).prctl
        control(_DIE_WITH_PARENT, signal.SIGKILL)
        if os.getppid() != server:
            os._exit(1)
        control(_SET_NAME, name_of(wanted["process"]).encode())
        os.setpgid(0, 0)
        before = set(sys.modules)
        take_over(wanted, files)
        process = os.pidfd_open(os.getpid())
        messages.send(connection, {}, [process])
        connection.close()
        os.close(process)
        gc.enable()
        job(lambda: _note_imports(imports, before))
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


def _note_imports(file: int, before: set[str]) -> None:
    """Write the names of the modules that this process has imported and the next may need."""
    names = [
        name for name in sys.modules if name not in before and name.partition(".")[0] in _PACKAGES
    ]
    os.write(file, "\n".join(names).encode())


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
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.path[0] = str(Path(sys.executable).parent)  # as where the command exparity begins
    main(int(sys.argv[1]), *sys.argv[2:])
