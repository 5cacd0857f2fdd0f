"""Servers of warm workers, forked from a process that has imported what all of them import.

A tenth of the time of all tests went into that import, once for each run of a workflow. As in
:mod:`workflow.forked`, that process must not import exparity.
"""

from __future__ import annotations

import atexit
import ctypes
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

ADDRESS = "TESTS_ZYGOTE"
"""Names its socket to a run."""
_MODULES = (
    "accelerate",
    "pyarrow.parquet",
    "torch",
    "transformers.models.auto.modeling_auto",
    "transformers.models.bert.modeling_bert",
    "transformers.models.gpt2.modeling_gpt2",
    "transformers.models.roberta.modeling_roberta",
)
_SERVER = "/exparity/warm/server.py"
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux


@cache
def address() -> str:
    """Start that process, which ends with this one, and return the address of its socket."""
    folder = tempfile.TemporaryDirectory(prefix="zygote")
    path = Path(folder.name, "socket")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        environment.pop("PYTHONPATH", None)
        process = subprocess.Popen(
            [sys.executable, __file__, str(listener.fileno())],
            env=environment,
            pass_fds=[listener.fileno()],
        )
    atexit.register(_end, process, folder)
    return str(path)


def _end(process: subprocess.Popen[bytes], folder: tempfile.TemporaryDirectory[str]) -> None:
    process.terminate()
    process.wait()
    folder.cleanup()


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
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(env[ADDRESS])
            socket.send_fds(connection, [b"."], [read, 2, *pass_fds])
            connection.sendall(json.dumps(call).encode())
            connection.shutdown(socket.SHUT_WR)
            self.pid = int(connection.makefile().read())
        os.close(read)
        self._ended = os.pidfd_open(self.pid)

    def wait(self, timeout: float | None = None) -> int:
        if not select.select([self._ended], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(_SERVER, timeout or 0)
        return 0


def _main(listener: socket.socket) -> None:
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how a server ended
    for name in _MODULES:
        importlib.import_module(name)
    while True:
        connection, _ = listener.accept()
        if not os.fork():
            listener.close()
            _be_server(connection)
        connection.close()


def _be_server(connection: socket.socket) -> None:
    """Be what the command line of the call would have started."""
    for number in (signal.SIGINT, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, 0)
    _, (stdin, stderr, served), *_ = socket.recv_fds(connection, 1, 3)
    call = json.loads(connection.makefile().read())
    connection.sendall(str(os.getpid()).encode())
    connection.close()
    os.dup2(stdin, 0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(stderr, 2)
    os.environ.clear()
    os.environ.update(call["environment"])
    os.chdir(call["folder"])
    sys.path[1:1] = call["environment"]["PYTHONPATH"].split(os.pathsep)
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
    _main(socket.socket(fileno=int(sys.argv[1])))
