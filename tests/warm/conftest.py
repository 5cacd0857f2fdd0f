"""A server for the jobs beside this file, and what starts them."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

import exparity
from exparity.warm import start

HERE = Path(__file__).parent
PATHS = os.pathsep.join([str(HERE), str(Path(exparity.__file__).parents[1])])


def address():
    """The server's, as a socket takes it."""
    return "\0" + os.environ["EXPARITY_WARM"]


@contextmanager
def standard_error(path):
    """Have processes that start meanwhile write their errors to a file."""
    before = os.dup(2)
    with path.open("w") as file:
        os.dup2(file.fileno(), 2)
    yield
    os.dup2(before, 2)
    os.close(before)


@pytest.fixture(autouse=True)
def _interrupts_arrive():
    """A shell that starts the tests in the background has them ignored, in children too."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def server(request, tmp_path, monkeypatch):
    """A server as a run starts it, for the jobs beside this file.

    Its parameter has imports ahead, and before them what does a job, if that is not ``jobs:run``.
    """
    ahead = getattr(request, "param", ())
    job, ahead = (ahead[0], ahead[1:]) if "jobs:stay" in ahead else ("jobs:run", ahead)
    monkeypatch.setattr(start.atexit, "register", lambda *_: None)
    monkeypatch.setenv("PYTHONPATH", PATHS)
    monkeypatch.setenv("EXPARITY_WARM", "")
    for name in start.THREAD_VARIABLES:
        monkeypatch.setenv(name, "1")
    os.environ.pop("PYTEST_CURRENT_TEST")  # it changes while the server runs
    with standard_error(tmp_path / "server.txt"):
        process = start.start_server(job, ahead)
    yield process
    start.end_server(process)
    assert process.poll() is not None


def environment(**more):
    """The environment of a job, without what pytest changes while a server runs."""
    own = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    return own | more


def begin(*arguments, warm=True, **how):
    more = how.pop("env", {}) | ({} if warm else {"EXPARITY_WARM": "0"})
    return subprocess.Popen(
        [sys.executable, str(HERE / "client.py"), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**more),
        **how,
    )


def result(*arguments, stdin="", **how):
    job = begin(*arguments, **how)
    output, errors = job.communicate(stdin, timeout=60)
    return job.returncode, output, errors


def worker_of(job):
    """The process that a job says to run in, once it does."""
    word, number = job.stdout.readline().split()
    assert word == "ready"
    return psutil.Process(int(number))
