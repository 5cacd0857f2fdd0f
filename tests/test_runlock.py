"""One run at a time in a folder, and no lock outlives its process."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from exparity import runlock

HOLD = (
    "import sys; from pathlib import Path; from exparity.runlock import hold\n"
    "hold(Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"
)


@contextmanager
def holder(folder):
    """Another process that has the lock of ``folder``."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


@pytest.fixture(autouse=True)
def _let_go(monkeypatch):
    """Locks that a test takes in this process end with it."""
    held = []
    monkeypatch.setattr(runlock, "_held", held)
    yield
    for file in held:
        file.close()


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "new" / ".snakemake"


def test_the_lock_says_who_has_it(folder):
    runlock.hold(folder)
    owner = json.loads((folder / "exparity.lock").read_text())
    assert owner["pid"] == os.getpid()
    assert set(owner) == {"pid", "host", "user"}


def refused(folder):
    """Stderr of a further process that must not get the lock."""
    run = subprocess.run(
        [sys.executable, "-c", HOLD, str(folder)], capture_output=True, text=True, input=""
    )
    assert (run.returncode, run.stdout) == (2, "")
    return run.stderr


def test_a_second_process_exits_with_2_and_names_the_first(folder):
    with holder(folder) as first:
        said = refused(folder)
        assert refused(folder) == said  # the refused one left the owner's name
    assert said.count("\n") == 1
    assert f"process {first.pid} of " in said
    assert said.endswith("; wait for it or stop it\n")


def test_after_kill_9_the_lock_is_free(folder):
    with holder(folder) as first:
        os.kill(first.pid, signal.SIGKILL)
        assert first.wait(30) == -signal.SIGKILL
        runlock.hold(folder)
    assert json.loads((folder / "exparity.lock").read_text())["pid"] == os.getpid()


def test_after_a_normal_end_the_lock_is_free(folder):
    with holder(folder) as first:
        first.stdin.close()
        assert first.wait(30) == 0
        runlock.hold(folder)


def test_two_folders_have_two_locks(tmp_path):
    runlock.hold(tmp_path / "a")
    runlock.hold(tmp_path / "b")
    assert len(runlock._held) == 2


def test_an_owner_who_has_not_written_yet_is_another_run(folder):
    folder.mkdir(parents=True)
    with (folder / "exparity.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert refused(folder) == (
            "exparity: another run is using this folder; wait for it or stop it\n"
        )
