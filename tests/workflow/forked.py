"""Snakemake and the server of its jobs in forks of a process that has imported what they import.

Most of a dry run is spent on that, and two fifths of a small run. That process must not import
exparity: every checkout has its own. Jobs begin as processes of their own all the same. A server
that starts anew is in ``tests/warm``, and beside each Snakemake that tests start anew.
"""

import asyncio
import atexit
import gc
import json
import multiprocessing
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, NoReturn
from unittest import mock

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        "argparse_dataclass",
        "docutils.parsers.rst.directives.images",
        "graphlib",
        "jsonschema",
        "pandas",
        "pyarrow.dataset",
        "pyarrow.pandas_compat",
        "pyarrow.parquet",
        "pydantic.dataclasses",
        "smart_open",
        "snakemake.cli",
        "snakemake.profiles",
        "snakemake.report.html_reporter",
        "snakemake.storage",
        "snakemake_executor_plugin_slurm",
        "snakemake_executor_plugin_slurm_jobstep",
        "sqlmodel",
        "tomllib",
        # Checking that a model can be built imports these.
        "torch",
        "transformers.models.auto.modeling_auto",
        "transformers.models.bert.modeling_bert",
        "unittest.mock",
    ]
)


@dataclass
class Run:
    """A Snakemake in a session of its own, with the methods of :class:`subprocess.Popen`."""

    process: ForkServerProcess

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    def poll(self) -> int | None:
        return self.process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self.process.join(timeout)
        if self.process.exitcode is None:
            raise subprocess.TimeoutExpired("snakemake", timeout or 0)
        return self.process.exitcode

    def kill(self) -> None:
        self.process.kill()

    def kill_all(self) -> None:
        """Kill the run with all its jobs and its server, whose workers end with it."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.wait(60)


def start(
    arguments: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    output: Path | str = os.devnull,
    error: Path | str = os.devnull,
) -> Run:
    """Start Snakemake in a folder as ``python -m snakemake`` does.

    Args:
        arguments: of its command line.
        folder: to run in.
        environment: all of it.
        output: file to which its standard output is added.
        error: the same of its standard error.
    """
    call = (
        list(arguments), str(folder), dict(environment), str(output), str(error), _import_path()
    )  # fmt: skip
    process = _CONTEXT.Process(target=_be_snakemake, args=call)
    process.start()
    return Run(process)


def run(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str], timeout: float
) -> subprocess.CompletedProcess[str]:
    """Run it to its end.

    Raises:
        subprocess.TimeoutExpired: it took longer, and was killed.
    """
    with TemporaryDirectory() as kept:
        output, error = Path(kept, "output"), Path(kept, "error")
        started = start(arguments, folder, environment, output, error)
        try:
            code = started.wait(timeout)
        except subprocess.TimeoutExpired:
            started.kill()
            raise
        return subprocess.CompletedProcess(
            list(arguments), code, output.read_text(), error.read_text()
        )


@cache
def _import_path() -> list[str]:
    """Where a new Python looks for modules, beside the folder of its script and PYTHONPATH."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    code = "import sys; print(*sys.path[1:], sep='\\n')"
    printed = subprocess.check_output([sys.executable, "-c", code], env=environment, text=True)
    return printed.splitlines()


def _be_snakemake(
    arguments: list[str],
    folder: str,
    environment: dict[str, str],
    output: str,
    error: str,
    import_path: list[str],
) -> None:
    os.setsid()
    # A shell that starts the tests in the background has interrupts ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.freeze()  # what is imported stays
    for number, path in ((1, output), (2, error)):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    own_path = environment["PYTHONPATH"].split(os.pathsep)
    spare = _fork_spare(import_path) if sys.platform == "linux" else None
    sys.path[:0] = [folder, *own_path]
    if spare:
        spare.stand_in()
    from snakemake.cli import __file__, main
    from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor

    # SLURM's plugin waits ten seconds more after each look at the queue that shows nothing new.
    RemoteExecutor.sleep = lambda self: asyncio.sleep(1)
    sys.argv = [__file__, *arguments]
    try:
        main()
    finally:
        with suppress(Exception):
            atexit._run_exitfuncs()


# Here that of the process that is forked; libraries read such variables when they are imported.
_STARTED_WITH = dict(os.environ)
_READ_BY_IMPORTS = ("HF_", "TRANSFORMERS_", "TORCH_", "OMP_", "NUMBA_", "CUDA_", "HOME")


def _would_import_otherwise(environment: Mapping[str, str]) -> bool:
    """Whether what is imported here depends on what a server and its jobs have otherwise."""
    return sys.flags.dont_write_bytecode or any(
        environment.get(name) != _STARTED_WITH.get(name)
        for name in {*environment, *_STARTED_WITH}
        if name.startswith(_READ_BY_IMPORTS)
    )


@dataclass
class _Spare:
    """A process that waits until it is to be a server; it ends where this one does not need it."""

    pid: int
    channel: socket.socket
    stdin: IO[bytes] | None = None

    def stand_in(self) -> None:
        """Be the server that this process starts, unless that one would import otherwise."""
        from exparity.warm import start

        anew = start._launch

        def launch(
            listener: int, arguments: Sequence[str], environment: Mapping[str, str]
        ) -> "subprocess.Popen[bytes] | _Spare":
            if _would_import_otherwise(environment):
                return anew(listener, arguments, environment)
            return self._launch(listener, arguments, environment)

        start._launch = launch

    def _launch(
        self, listener: int, arguments: Sequence[str], environment: Mapping[str, str]
    ) -> "_Spare":
        end, kept_open = os.pipe()
        self.stdin = os.fdopen(kept_open, "wb")
        message = json.dumps([list(arguments), dict(environment)])
        socket.send_fds(self.channel, [message.encode()], [end, listener])
        os.close(end)
        return self

    def wait(self, timeout: float) -> None:
        ended, _, _ = select.select([os.pidfd_open(self.pid)], [], [], timeout)
        if not ended:
            raise subprocess.TimeoutExpired("server", timeout)


def _fork_spare(import_path: list[str]) -> _Spare:
    """Fork it before there are threads, locks and whatever else Snakemake has."""
    channel, other = socket.socketpair(type=socket.SOCK_SEQPACKET)
    pid = os.fork()
    if not pid:
        channel.close()
        _be_server(other, import_path)
    other.close()
    return _Spare(pid, channel)


def _be_server(channel: socket.socket, import_path: list[str]) -> NoReturn:
    """Wait for what a server gets from the process that starts it, and serve."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a run that is interrupted as it plans
        message, files, *_ = socket.recv_fds(channel, 2**20, 2)
        if message:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            standard_input, listener = files
            os.dup2(standard_input, 0)
            os.close(standard_input)
            sys.stdin = os.fdopen(0, closefd=False)
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, 1)
            os.close(nothing)
            channel.close()
            arguments, environment = json.loads(message)
            os.environ.clear()
            os.environ.update(environment)
            programs = str(Path(sys.executable).parent)
            own_path = environment["PYTHONPATH"].split(os.pathsep)
            sys.path[:] = [programs, *dict.fromkeys([*own_path, *import_path])]
            # As when a Python starts: tests/held has one.
            sys.modules.pop("sitecustomize", None)
            with suppress(ImportError):
                import sitecustomize  # noqa: F401
            from exparity.warm import server

            server.main(listener, *arguments)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(0)


class _Process:
    """``python -P -m MODULE ... PARENT`` in a fork, with what a team asks of :class:`Popen`."""

    def __init__(
        self,
        arguments: Sequence[str],
        env: Mapping[str, str],
        stdout: IO[bytes] | None,
        stderr: IO[bytes] | None,
    ) -> None:
        python, *flags = arguments[:3]
        assert (python, *flags) == (sys.executable, "-P", "-m")
        assert stdout is stderr
        messages = os.devnull if stdout is None else stdout.name
        call = (arguments[3:], os.getcwd(), dict(env), str(messages), _import_path())
        self._process = _CONTEXT.Process(target=_be_module, args=call)
        self._process.start()

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    poll = returncode.fget

    def kill(self) -> None:
        self._process.kill()

    def wait(self) -> None:
        self._process.join()


def _be_module(
    arguments: list[str], folder: str, environment: dict[str, str], output: str, path: list[str]
) -> None:
    messages = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(messages, 1)
    os.dup2(messages, 2)
    os.close(messages)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    own_path = environment.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [*dict.fromkeys([*filter(None, own_path), *path])]
    module, *values, _ = arguments
    sys.argv = [module, *values, str(os.getppid())]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


@contextmanager
def teams() -> Iterator[None]:
    """Fork the processes of the trainings in this block, which would import torch else.

    They do not end with the process that trains, but with the one that they are forks of.
    """
    with mock.patch("exparity.models.team.Popen", _Process):
        yield
