"""Starts the server of a run."""

from __future__ import annotations

import atexit
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from exparity.warm.messages import KIND

_SERVER = str(Path(__file__).with_name("server.py"))
"""With ``-m``, Python would import from the working folder, which others may write to."""
SWITCH = "EXPARITY_WARM"
# Every job that runs a model imports the one; every job looks up and prepares the other.
ENGINE = ("exparity.engine.loading", "exparity.models.auto:list_conversions")
FACTS = (
    "exparity.artefacts.files:facts_of_code",
    "exparity.core.registry:entry_points",
    "exparity.cli:prepare",
)
# Snakemake sets these for each job to its threads, which are one in all rules.
THREAD_VARIABLES = (
    *("OMP_NUM_THREADS", "GOTO_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
    *("VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS"),
)


def start_server(job: str, ahead: Sequence[str] = ()) -> subprocess.Popen[bytes] | None:
    """Start a server for the jobs of this process, named in its environment; None without one.

    Args:
        job: ``module:function`` that does a job; see :class:`exparity.warm.server.Server`.
        ahead: what is imported first; of ``module:function`` the function is called.
    """
    prefix = f"exparity-{os.getpid()}-"
    if os.environ.get(SWITCH) == "0" or os.environ.get(SWITCH, "").startswith(prefix):
        return None
    # Another user may take such a name or connect to it: both sides ask who the other one is.
    name = f"{prefix}{secrets.token_hex(8)}"
    try:
        os.close(os.pidfd_open(os.getpid()))  # Linux has it since 5.3
        with socket.socket(socket.AF_UNIX, KIND) as listener:
            listener.bind(f"\0{name}")
            listener.listen(128)
            environment = {**os.environ, SWITCH: name, **dict.fromkeys(THREAD_VARIABLES, "1")}
            server = _launch(listener.fileno(), (job, *ahead), environment)
    except (OSError, AttributeError) as error:
        print(f"exparity: no warm workers, every job starts anew: {error}", file=sys.stderr)
        return None
    os.environ[SWITCH] = name
    atexit.register(end_server, server)
    return server


def _launch(
    listener: int, arguments: Sequence[str], environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Start the process of the server. Workflow tests fork theirs (tests/workflow/forked.py)."""
    return subprocess.Popen(
        [sys.executable, _SERVER, str(listener), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        pass_fds=[listener],
        env=environment,
    )


def end_server(server: subprocess.Popen[bytes]) -> None:
    """Have a server end once its last job has; those of a killed run go on until their end."""
    assert server.stdin is not None
    server.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        server.wait(5)
