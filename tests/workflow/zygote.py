"""Servers of warm workers, forked from a process that has imported what all of them import.

A tenth of the time of all tests went into that import, once for each run of a workflow. All workers
of pytest-xdist share that process. As in :mod:`workflow.forked`, it must not import exparity.
"""

import fcntl
import gc
import importlib
import json
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

ADDRESS = "TESTS_ZYGOTE"
"""Names its socket to a run, which ``tests/held`` has fork its server."""
MODULES = (
    "accelerate",
    "pyarrow.parquet",
    "torch",
    "transformers.models.auto.modeling_auto",
    "transformers.models.bert.modeling_bert",
    "transformers.models.gpt2.modeling_gpt2",
    "transformers.models.roberta.modeling_roberta",
)
"""All that runs a model imports these; checking that a model can be built does as well."""
_SERVER = "/exparity/warm/server.py"
_RESET = [signal.SIGCHLD]
"""Signals that servers do not ignore as their parent does."""


@cache
def address() -> str:
    """Return the address of its socket; the first who asks starts it. It ends with pytest."""
    tests = os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()
    folder = Path(tempfile.gettempdir(), f"zygote-of-{tests}")
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / "socket"
    with (folder / "started").open("a") as started, socket.socket(socket.AF_UNIX) as listener:
        fcntl.flock(started, fcntl.LOCK_EX)
        if not path.exists():
            listener.bind(str(path))
            listener.listen()
            environment = {**os.environ, "OMP_NUM_THREADS": "1"}
            environment.pop("PYTHONPATH", None)
            listener.set_inheritable(True)
            command = [sys.executable, __file__, str(listener.fileno()), str(tests)]
            os.posix_spawn(sys.executable, command, environment)
    return str(path)


def end_servers(group: int) -> None:
    """Kill the servers of the runs in a process group, and with them their workers."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address())
        socket.send_fds(connection, [b"k"], [0])
        connection.sendall(json.dumps(group).encode())
        connection.shutdown(socket.SHUT_WR)
        connection.makefile().read()


def fork_servers(environment: Mapping[str, str]) -> None:
    """Have the servers that this process starts forked, if its environment names the socket."""
    if ADDRESS not in environment:
        return

    class Popen(subprocess.Popen):
        def __new__(cls, command, *_, **how):
            script = command[1:2] if isinstance(command, list) else []
            is_server = any(str(path).endswith(_SERVER) for path in script)
            return _Server(command, **how) if is_server else super().__new__(cls)

    subprocess.Popen = Popen  # type: ignore[misc]


class _Server:
    """A forked server, with what :mod:`exparity.warm.start` asks of :class:`subprocess.Popen`."""

    def __init__(self, command, *, stdin, stdout, pass_fds, env) -> None:
        assert (stdin, stdout) == (subprocess.PIPE, subprocess.DEVNULL)
        read, write = os.pipe()
        self.stdin = open(write, "wb")  # noqa: SIM115
        call = {"arguments": command[1:], "environment": env, "folder": os.getcwd()}
        call["group"] = os.getpgrp()
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(env[ADDRESS])
            socket.send_fds(connection, [b"f"], [read, 2, *pass_fds])
            connection.sendall(json.dumps(call).encode())
            connection.shutdown(socket.SHUT_WR)
            self.pid = int(connection.makefile().read())
        os.close(read)
        self._ended = os.pidfd_open(self.pid)

    def wait(self, timeout: float | None = None) -> int:
        if not select.select([self._ended], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(_SERVER, timeout or 0)
        return 0


def _main(listener: socket.socket, tests: int) -> None:
    # A shell that starts the tests in the background has interrupts ignored, in jobs too.
    if signal.signal(signal.SIGINT, signal.SIG_IGN) != signal.SIG_IGN:
        _RESET.append(signal.SIGINT)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how a server ended
    ended = os.pidfd_open(tests)
    for name in MODULES:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    servers = defaultdict(list)
    while ended not in select.select([listener, ended], [], [])[0]:
        connection, _ = listener.accept()
        kind, files, *_ = socket.recv_fds(connection, 1, 3)
        sent = connection.makefile().read()
        if sent and kind == b"k":
            for server in servers.pop(int(sent), []):
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(server, signal.SIGKILL)
                select.select([server], [], [])
                os.close(server)
        elif sent:  # and who asked was not killed before it could say what for
            call = json.loads(sent)
            server = os.fork()
            if not server:
                listener.close()
                connection.sendall(str(os.getpid()).encode())
                connection.close()
                _be_server(call, *files)
            servers[call["group"]].append(os.pidfd_open(server))
        for file in files:
            os.close(file)
        connection.close()
    shutil.rmtree(Path(listener.getsockname()).parent)


def _be_server(call: dict, stdin: int, stderr: int, served: int) -> None:
    """Be what the command line of the call would have started."""
    for number in _RESET:
        signal.signal(number, signal.SIG_DFL)
    os.dup2(stdin, 0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(stderr, 2)
    os.environ.clear()
    os.environ.update(call["environment"])
    os.chdir(call["folder"])
    first = call["environment"]["PYTHONPATH"].split(os.pathsep)
    sys.path[1:] = [*first, *(path for path in sys.path[1:] if path not in first)]
    # As a Python that starts does: tests/held is such a module.
    sys.modules.pop("sitecustomize", None)
    with suppress(ImportError):
        importlib.import_module("sitecustomize")
    script, _, *arguments = call["arguments"]
    sys.argv = [script, str(served), *arguments]
    try:
        runpy.run_path(script, run_name="__main__")
    finally:
        sys.stderr.flush()
        os._exit(0)


if __name__ == "__main__":
    _main(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]))
