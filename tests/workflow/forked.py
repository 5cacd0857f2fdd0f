"""Snakemake in a fork of a process that has imported it, which most of a dry run is spent on.

That process must not import exparity: every checkout has its own.
"""

import asyncio
import atexit
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from tempfile import TemporaryDirectory

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        "docutils.parsers.rst.directives.images",
        "jsonschema",
        "pandas",
        "pyarrow.parquet",
        "smart_open",
        "snakemake.cli",
        "snakemake.report.html_reporter",
        "snakemake_executor_plugin_slurm",
        "snakemake_executor_plugin_slurm_jobstep",
        "sqlmodel",
        # Checking that a model can be built imports these.
        "torch",
        "transformers.models.auto.modeling_auto",
        "transformers.models.bert.modeling_bert",
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
    call = (list(arguments), str(folder), dict(environment), str(output), str(error))
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


def _be_snakemake(
    arguments: list[str], folder: str, environment: dict[str, str], output: str, error: str
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
    sys.path[:0] = [folder, *environment["PYTHONPATH"].split(os.pathsep)]
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
