"""The server: it imports what jobs import, and forks the workers that do them."""

from __future__ import annotations

import ctypes
import gc
import os
import select
import signal
import site
import socket
import sys
import sysconfig
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import NoReturn

import exparity
from exparity.core import trials
from exparity.warm import messages
from exparity.warm.process import process_identity, take_over

_control = ctypes.CDLL(None).prctl
_DIE_WITH_PARENT, _SET_NAME = 1, 15  # PR_SET_PDEATHSIG and PR_SET_NAME of Linux
# What makes the start of a job slow, and does nothing but define when it is imported. Plug-ins are
# imported by each job, as they are then.
_PACKAGES = {
    "accelerate", "captum", "exparity", "huggingface_hub", "numpy", "pandas", "pyarrow",
    "safetensors", "scipy", "sklearn", "tokenizers", "torch", "transformers",
}  # fmt: skip
_MOST = 1000  # of the modules that a worker had to import; a message has room for their names
# The server's own, and one of the allocator that pyarrow brings, which takes care of forks itself.
_HARMLESS_THREADS = {messages.SERVER, "jemalloc_bg_thd"}


@dataclass(eq=False)
class _Worker:
    """A process that does jobs, one after the other."""

    process: int
    exit: int  # a file that is readable when it has ended
    channel: socket.socket  # to hear from it, and to hand it the next client
    client: socket.socket | None = None  # whose job it does, if it does one


@dataclass
class Server:
    """Serves the jobs of a run, until the run closes the server's standard input.

    It reads nothing that a client sends, so that no client ends it or keeps others waiting. ``job``
    does the job of ``sys.argv`` and ends the process, after a call of the function that it gets; or
    it returns the exit code, and after a 0 its worker waits for the next job.
    """

    listener: socket.socket
    job: Callable[[Callable[[], object]], int]
    _busy: set[_Worker] = field(default_factory=set)
    _idle: list[_Worker] = field(default_factory=list)
    _news: list[str] = field(default_factory=list)  # what workers had to import since the last fork
    _events: select.poll = field(default_factory=select.poll)
    _calls: dict[int, Callable[[], None]] = field(default_factory=dict)
    _open: bool = True
    _identity: messages.Message = field(default_factory=process_identity)

    def run(self, ahead: Sequence[str] = ()) -> None:
        """Serve until the run has ended and the last job as well."""
        gc.disable()
        self._watch(self.listener.fileno(), self._accept)
        self._watch(sys.stdin.fileno(), self._close)
        self._learn(ahead)
        while self._open or self._busy:
            file, _ = self._events.poll()[0]  # a call may close the files of other events
            self._calls[file]()
        for worker in self._idle:  # who waits for this process counts their time
            signal.pidfd_send_signal(worker.exit, signal.SIGKILL)
            os.waitpid(worker.process, 0)

    def _watch(self, file: int, call: Callable[[], None], event: int = select.POLLIN) -> None:
        self._events.register(file, event)
        self._calls[file] = call

    def _unwatch(self, file: int) -> None:
        if self._calls.pop(file, None):
            self._events.unregister(file)

    def _close(self) -> None:
        """Take no more jobs."""
        self._open = False
        for file in (self.listener.fileno(), sys.stdin.fileno()):
            self._unwatch(file)
        self.listener.close()

    def _accept(self) -> None:
        """Hand a client to a worker that waits, or to a new one."""
        if not self._idle:
            # Not before: what the last job of a run has imported would be imported for nobody.
            self._learn(self._news)
            self._news.clear()
            if not self._open:
                return
        client, _ = self.listener.accept()
        if messages.process_of_this_user(client) is None:
            client.close()
            return
        worker = self._idle.pop() if self._idle else self._forked()
        worker.client = client
        self._busy.add(worker)
        self._watch(client.fileno(), lambda: self._left(worker, client), select.POLLRDHUP)
        with suppress(OSError):  # it has just died, which an event will say
            messages.send(worker.channel, {}, [client.fileno()])

    def _forked(self) -> _Worker:
        channel, worker_channel = socket.socketpair(type=messages.KIND)
        server = os.getpid()
        gc.freeze()
        with warnings.catch_warnings():  # of threads, from Python 3.12 on, harmless or not
            warnings.simplefilter("ignore", DeprecationWarning)
            process = os.fork()
        if not process:
            self._work(server, worker_channel)
        worker_channel.close()
        worker = _Worker(process, os.pidfd_open(process), channel)
        self._watch(worker.exit, lambda: self._ended(worker))
        self._watch(channel.fileno(), lambda: self._told(worker))
        return worker

    def _work(self, server: int, channel: socket.socket) -> NoReturn:
        """Do the jobs of the clients that this process is handed, which was forked for them."""
        try:
            self.listener.close()
            _control(_DIE_WITH_PARENT, signal.SIGKILL)
            while os.getppid() == server:
                _, [file] = messages.receive(channel, 1)
                if refusal := self._prepare(socket.socket(fileno=file)):
                    messages.send(channel, {"refusal": refusal})
                    break
                self._do(channel)
        finally:  # also where the client is gone, or sends what it should not
            os._exit(1)

    def _prepare(self, client: socket.socket) -> str:
        """Take over what the client hands over; return why this cannot be, empty if all is done."""
        messages.send(client, {})
        request, files = messages.receive(client, 3)
        client_identity = request.pop("identity")
        identity = self._identity
        for name in identity | client_identity:
            if client_identity.get(name) != identity.get(name):
                return f"another {name}"
        _control(_SET_NAME, b"warm %d" % request["process"])  # Linux keeps 15 characters
        os.setpgid(0, 0)
        take_over(request, files, identity["ignored"])
        process = os.pidfd_open(os.getpid())
        messages.send(client, {}, [process])
        os.close(process)
        messages.receive(client)
        client.close()
        return ""

    def _do(self, channel: socket.socket) -> None:
        """Do a job, and end with one that fails or loads the user's own code, which may change."""
        before = set(sys.modules)
        tried = trials.outcomes()

        def note(**facts: int) -> None:
            news = {"imports": _imported_since(before), "tried": trials.since(tried)}
            messages.send(channel, {**news, **facts})

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
        _control(_SET_NAME, b"warm idle")
        with open(os.devnull, "r+b", buffering=0) as nothing:
            for number in range(3):  # who reads what the job says waits for its end
                os.dup2(nothing.fileno(), number)
        note(status=0)

    def _left(self, worker: _Worker, client: socket.socket) -> None:
        """End the worker of a client that is gone."""
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
            _tell(note["refusal"])
        if "status" in note:
            self._release(worker, note["status"])
            self._idle.append(worker)
        trials.take_in(note.get("tried", {}))
        self._news += note.get("imports", ())

    def _ended(self, worker: _Worker) -> None:
        _, status = os.waitpid(worker.process, 0)
        worker.channel.setblocking(False)
        while worker.channel.fileno() in self._calls:
            self._told(worker)
        self._unwatch(worker.exit)
        self._release(worker, status)
        self._idle = [other for other in self._idle if other is not worker]
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
        self._busy.remove(worker)

    def _learn(self, names: Sequence[str]) -> None:
        """Import what workers need; of ``module:function`` the function is called."""
        # A thread that an import starts could hold a lock at a fork, which is then never free.
        if not self._open:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name in names:
                with suppress(Exception):
                    prepare = resolve_name(name)
                    if ":" in name:
                        prepare()
        tasks = Path("/proc/self/task").glob("*/comm")
        threads = {task.read_text(encoding="utf-8").strip() for task in tasks} - _HARMLESS_THREADS
        if threads:
            _tell(f"threads before the fork ({', '.join(threads)})")
            self._close()


@cache
def _tell(refusal: str) -> None:
    """Say once why jobs cannot be served."""
    print(f"exparity: jobs start anew, which takes seconds each: {refusal}", file=sys.stderr)


def _has_own_code(modules_before: set[str]) -> bool:
    """Return whether this process has imported more than installed packages."""
    files = (
        getattr(sys.modules[name], "__file__", None) for name in sys.modules.keys() - modules_before
    )
    places = _places_of_packages()
    return any(file and not file.startswith(places) for file in files)


@cache
def _places_of_packages() -> tuple[str, ...]:
    """Return the beginnings of the paths of all installed modules."""
    package = str(Path(exparity.__file__).parent)
    paths = sysconfig.get_paths()
    standard = (paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    others = (*site.getsitepackages(), site.getusersitepackages())
    return tuple(f"{place}{os.sep}" for place in (package, *standard, *others))


def _imported_since(before: set[str]) -> list[str]:
    """Return the modules that this process has imported and the next may need."""
    new = [name for name in sys.modules if name not in before]
    return [name for name in new if name.partition(".")[0] in _PACKAGES][:_MOST]


def main(descriptor: int, job: str, *ahead: str) -> None:
    """Serve on a socket until standard input ends."""
    _control(_SET_NAME, messages.SERVER.encode())
    listener = socket.socket(fileno=descriptor)
    listener.listen(128)  # for clients this process is the other side from now on
    server = Server(listener, resolve_name(job))
    _ignore_signals()
    server.run(ahead)


def _ignore_signals() -> None:
    """Ignore what is sent to every process: a worker that dies with the server saves nothing."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


if __name__ == "__main__":
    if not sys.flags.safe_path:
        sys.path[0] = str(Path(sys.executable).parent)  # as where the command exparity begins
    main(int(sys.argv[1]), *sys.argv[2:])
