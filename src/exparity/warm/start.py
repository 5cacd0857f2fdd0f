"""Starts the server of a run."""

from __future__ import annotations

import atexit
import errno
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from exparity.warm.folder import SOCKET, address_in, holds_a_socket_alone, opened, remove

_PREFIX = "exparity-"
_SERVER = str(Path(__file__).with_name("server.py"))
"""With ``-m``, Python would import from the working folder, which others may write to."""
SWITCH = "EXPARITY_WARM"
ENGINE = ("exparity.engine.loading", "exparity.models.auto")
"""What every job imports that runs a model, torch and transformers above all."""
FACTS = ("exparity.artefacts.files:facts_of_code", "exparity.core.registry:entry_points")
"""What every job looks up, and keeps for the processes that it forks."""
# Snakemake sets these for each job to its threads, which are one in all rules.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "GOTO_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


def start_server(
    job: str = "exparity.cli:run", ahead: Sequence[str] = ()
) -> subprocess.Popen[bytes] | None:
    """Start a server for the jobs that this process is going to start; it ends with the process.

    Its socket is named to jobs in the environment; ``EXPARITY_WARM=0`` there starts none. Where
    there can be none, it returns None, and jobs run as they do without.
    """
    if os.environ.get(SWITCH) == "0":
        return None
    if not hasattr(os, "pidfd_open"):
        print("exparity: warm workers need Linux 5.3; every job starts anew", file=sys.stderr)
        return None
    folder = None
    try:
        _remove_leftovers()
        # Only its owner may look into it.
        folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        os.environ[SWITCH] = str(folder / SOCKET)
        with opened(folder), socket.socket(socket.AF_UNIX) as listener:
            listener.bind(os.environ[SWITCH])
            listener.listen(128)
            server = subprocess.Popen(
                [sys.executable, _SERVER, str(listener.fileno()), job, *ahead],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                pass_fds=[listener.fileno()],
                env={**os.environ, **dict.fromkeys(THREAD_VARIABLES, "1")},
            )
    except OSError as error:
        os.environ.pop(SWITCH, None)
        if folder:
            remove(folder)
        print(f"exparity: no warm workers, every job starts anew: {error}", file=sys.stderr)
        return None
    atexit.register(end_server, server, folder)
    return server


def _remove_leftovers() -> None:
    """Remove the sockets of runs that were killed together with their servers.

    Anybody may have put anything there: what is not surely such a socket of this user stays.
    """
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        run = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if not run.isdecimal() or os.path.exists(f"/proc/{run}"):
            continue
        with suppress(OSError), opened(folder) as descriptor:
            if holds_a_socket_alone(descriptor) and _is_dead(address_in(descriptor)):
                remove(folder)


def _is_dead(address: str) -> bool:
    """Return whether no process listens on a socket, not even of a run that this one cannot see."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.setblocking(False)  # where many wait to be served, a connection would wait too
        return connection.connect_ex(address) == errno.ECONNREFUSED


def end_server(server: subprocess.Popen[bytes], folder: Path) -> None:
    """Have a server end once its last job has, and leave no socket behind."""
    assert server.stdin is not None
    server.stdin.close()
    try:
        server.wait(5)
    except subprocess.TimeoutExpired:  # jobs of a killed run go on until their end
        return
    remove(folder)
