"""One run at a time in a folder and in its results, and no lock outlives its process."""

import errno
import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from exparity.jobs import locks as runlock

HOLD = (
    "import sys; from pathlib import Path; from exparity.jobs.locks import hold\n"
    "hold(Path(sys.argv[1]), 'this folder'); print('held', flush=True); sys.stdin.read()"
)


@contextmanager
def holder(path):
    """Another process that has the lock on ``path``."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
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
def path(tmp_path):
    return tmp_path / "new" / "exparity.lock"


def refused(path):
    """Stderr of a further process that must not get the lock."""
    run = subprocess.run(
        [sys.executable, "-c", HOLD, str(path)], capture_output=True, text=True, input=""
    )
    assert (run.returncode, run.stdout) == (2, "")
    return run.stderr


def test_a_second_process_exits_with_2_and_names_the_first(path):
    with holder(path) as first:
        said = refused(path)
        assert refused(path) == said  # the refused one left the owner's name
    assert said.count("\n") == 1
    assert f"process {first.pid} of " in said
    assert said.endswith("; wait for it or stop it\n")


def test_after_kill_9_the_lock_is_free(path):
    with holder(path) as first:
        os.kill(first.pid, signal.SIGKILL)
        assert first.wait(30) == -signal.SIGKILL
        runlock.hold(path, "this folder")
    assert f"process {os.getpid()} of " in path.read_text()


def test_a_process_may_take_its_own_lock_again_and_others_may_not(path, tmp_path):
    runlock.hold(path, "this folder")
    (tmp_path / "link").symlink_to(path.parent)
    runlock.hold(tmp_path / "link" / path.name, "this folder")
    assert f"process {os.getpid()}" in refused(path)


def test_a_lock_that_cannot_be_made_is_one_line(tmp_path, capsys):
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit) as stop:
        runlock.hold(tmp_path / "file" / "lock", "this folder")
    assert stop.value.code == 2
    line = f"exparity: {tmp_path}/file/lock: cannot be locked: File exists\n"
    assert capsys.readouterr().err == line


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_a_folder_that_cannot_be_written_is_named(path, number, monkeypatch, capsys):
    def refuse(*arguments, **options):
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr(runlock.Path, "open", refuse)
    with pytest.raises(SystemExit) as stop:
        runlock.hold(path, "this folder")
    assert stop.value.code == 2
    line = f"exparity: {path.parent}: cannot be written: {os.strerror(number)}\n"
    assert capsys.readouterr().err == line


@pytest.fixture(params=[errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP], ids=errno.errorcode.get)
def reason(request, monkeypatch):
    """What the system says where a file system has no locks."""

    def flock(file, operation):
        raise OSError(request.param, os.strerror(request.param))

    monkeypatch.setattr(runlock.fcntl, "flock", flock)
    return os.strerror(request.param)


def test_a_run_goes_on_with_a_caution_where_there_are_no_locks(path, reason, capsys):
    runlock.hold(path, "this folder")
    caution = f"this file system has no locks ({reason}); start no second run on this folder"
    assert capsys.readouterr().err == f"exparity: {path}: {caution}\n"


def test_a_job_goes_on_with_a_caution_where_there_are_no_locks(path, reason, caplog):
    with runlock.job_lock(path) as waited:
        assert not waited
    (record,) = caplog.records
    assert f"this file system has no locks ({reason})" in record.getMessage()
