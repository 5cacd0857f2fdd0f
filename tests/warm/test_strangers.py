"""What lies in the temporary folder, whoever put it there, stays, and neither stops nor reads runs.

Another user is played by ``nobody``, which takes root.
"""

import os
import pwd
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from contextlib import chdir, contextmanager, suppress
from pathlib import Path

import pytest
from support import need
from warm.conftest import HERE, PATHS, result

from exparity.warm import client, start

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")
GONE = 2**22 + 1
"""No process has this number: it is above Linux's largest."""


def put_socket(folder, mode=0o700):
    """Put the socket of a run that was killed into a new folder."""
    folder.mkdir()
    folder.chmod(mode)
    with socket.socket(socket.AF_UNIX) as listener, chdir(folder):
        listener.bind("warm")  # the address of a socket has 107 bytes at most


def whole(folder):
    """All that lies below a folder, with what makes a file itself."""
    return {
        os.fsencode(path): (path.lstat().st_ino, path.lstat().st_mode, path.lstat().st_uid)
        for path in folder.rglob("*")
    }


def put_names(folder):
    """Put what has the form of a run's folder; return sockets that listen and are never served.

    So many wait already that who connects waits as well.
    """
    (folder / "exparity-99999999999999999999-x").mkdir(mode=0o700)
    (folder / "exparity-²-x").mkdir(mode=0o700)
    (folder / "exparity-٣-x").mkdir(mode=0o700)
    (folder / "exparity--").mkdir(mode=0o700)
    (folder / f"exparity-{GONE}-empty").mkdir(mode=0o700)
    (folder / f"exparity-{GONE}-file").write_text("thesis")
    os.mkfifo(folder / f"exparity-{GONE}-pipe")
    os.mkdir(os.path.join(os.fsencode(folder), b"exparity-%d-\xff" % GONE), 0o700)
    (folder / f"exparity-{GONE}-unreadable").mkdir(mode=0)
    inner = folder / f"exparity-{GONE}-pipe-in-it"
    inner.mkdir(mode=0o700)
    os.mkfifo(inner / "warm")
    opened = []
    for mode in (0o700, 0o777):
        busy = folder / f"exparity-{GONE}-busy-{mode}"
        busy.mkdir()
        busy.chmod(mode)
        listener = socket.socket(socket.AF_UNIX)
        with chdir(busy):
            listener.bind("warm")
        listener.listen(0)
        opened.append(listener)
        with suppress(BlockingIOError):
            while True:
                opened.append(socket.socket(socket.AF_UNIX))
                opened[-1].setblocking(False)
                opened[-1].connect(str(busy / "warm"))
    return opened


def run_in(folder, **how):
    """A run whose temporary files go to a folder, with one job; it prints "cold" if that is so."""
    code = (
        "import subprocess, sys\n"
        "from exparity.warm.start import start_server\n"
        "start_server('jobs:run')\n"
        f"job = [sys.executable, {str(HERE / 'client.py')!r}, 'leave', '5']\n"
        "sys.exit(subprocess.run(job).returncode)\n"
    )
    environment = {**os.environ, **dict.fromkeys(start.THREAD_VARIABLES, "1")}
    environment |= {"PYTHONPATH": PATHS, "TMPDIR": str(folder), "EXPARITY_WARM": ""}
    environment.pop("PYTEST_CURRENT_TEST", None)
    with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
        script.write(code)
        script.flush()
        return subprocess.run(
            [sys.executable, script.name],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            **how,
        )


def is_served(run):
    return (run.returncode, run.stdout, run.stderr) == (5, "", "")


@contextmanager
def nobody(act):
    """Do something as another user in a process that stays until the end of the block."""
    need(os.getuid() == 0, "root, who can be another user")
    read, write = os.pipe()
    stranger = os.fork()
    if not stranger:
        try:
            user = pwd.getpwnam("nobody")
            os.setgroups([])
            os.setgid(user.pw_gid)
            os.setuid(user.pw_uid)
            kept = act()
            os.write(write, b"done")
            while kept:
                signal.pause()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(write)
    try:
        with open(read, "rb", buffering=0) as said:
            assert said.read(4) == b"done"
        yield
    finally:
        os.kill(stranger, signal.SIGKILL)
        os.waitpid(stranger, 0)


@pytest.fixture
def sticky():
    """A temporary folder of all users; those of pytest are closed to others."""
    need(os.getuid() == 0, "root, who can be another user")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o1777)
        yield Path(folder)


class TestD1:
    """A run removes its own socket, and nothing else."""

    def test_sockets_of_killed_runs_are_removed(self, tmp_path, monkeypatch):
        monkeypatch.setattr(start.tempfile, "tempdir", str(tmp_path))
        for name in (f"exparity-{GONE}-x", f"exparity-{os.getpid()}-x", "exparity-else"):
            put_socket(tmp_path / name)
        start._remove_leftovers()
        assert {path.name for path in tmp_path.iterdir()} == {
            f"exparity-{os.getpid()}-x",
            "exparity-else",
        }

    def test_a_folder_of_another_user(self, sticky):
        with nobody(lambda: put_socket(sticky / f"exparity-{GONE}-x") or True):
            before = whole(sticky)
            assert is_served(run_in(sticky))
            assert whole(sticky) == before

    def test_the_end_of_a_run_removes_its_socket_alone(self, server, tmp_path):
        folder = Path(os.environ["EXPARITY_WARM"]).parent
        (folder / "thesis.txt").write_text("years of work")
        start.end_server(server, folder)
        assert (folder / "thesis.txt").read_text() == "years of work"
        (folder / "thesis.txt").unlink()


class TestD2:
    """No name in the temporary folder stops a run."""

    def test_what_this_user_has_there(self, tmp_path):
        """Names of any form, and what looks like a run's folder but for one thing."""
        opened = put_names(tmp_path)
        for name in ("warm", "thesis.txt"):
            folder = tmp_path / f"exparity-{GONE}-11-23-{name}"
            folder.mkdir(mode=0o700)
            (folder / name).write_text("years of work")
        put_socket(tmp_path / f"exparity-{GONE}-with-more")
        (tmp_path / f"exparity-{GONE}-with-more" / "thesis.txt").write_text("years of work")
        put_socket(tmp_path / f"exparity-{GONE}-open-to-others", mode=0o755)
        put_socket(tmp_path / "elsewhere")
        (tmp_path / f"exparity-{GONE}-link").symlink_to(tmp_path / "elsewhere")
        before = whole(tmp_path)
        assert is_served(run_in(tmp_path))
        assert whole(tmp_path) == before
        for connection in opened:
            connection.close()

    def test_names_of_another_user(self, sticky):
        with nobody(lambda: put_names(sticky)):
            before = whole(sticky)
            assert is_served(run_in(sticky))
            assert whole(sticky) == before

    def test_another_user_beside_names_of_this_one(self, sticky, monkeypatch):
        monkeypatch.setattr(start.tempfile, "tempdir", str(sticky))
        opened = put_names(sticky)
        put_socket(sticky / f"exparity-{GONE}-x")
        before = whole(sticky)
        with nobody(lambda: start._remove_leftovers() or True):
            assert whole(sticky) == before
        for connection in opened:
            connection.close()

    def test_a_temporary_folder_that_nobody_can_use_is_told(self, monkeypatch, capsys):
        def fail(**_):
            raise FileNotFoundError("no usable temporary directory")

        monkeypatch.setenv("EXPARITY_WARM", "")
        monkeypatch.setattr(start.tempfile, "mkdtemp", fail)
        assert start.start_server() is None
        assert "every job starts anew: no usable temporary directory" in capsys.readouterr().err


def test_nothing_is_imported_from_the_working_folder(tmp_path):
    folder = tmp_path / "writable by all"
    folder.mkdir()
    for name in (*sys.stdlib_module_names, "exparity", "numpy", "psutil", "torch", "sitecustomize"):
        (folder / f"{name}.py").write_text(f"open('RAN-{name}', 'w')\n")
    run = run_in(tmp_path, cwd=folder)
    assert list(folder.glob("RAN-*")) == []
    assert is_served(run)


@contextmanager
def false_server(address, as_nobody=True):
    """A process that listens at an address; yields a function that returns what it was sent."""
    need(os.getuid() == 0 or not as_nobody, "root, who can be another user")
    read, write = os.pipe()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(address))
        address.chmod(0o777)
        stranger = os.fork()
        if not stranger:
            try:
                if as_nobody:
                    os.setuid(pwd.getpwnam("nobody").pw_uid)
                listener.listen(8)  # whoever does this is who answers
                os.write(write, b"!")
                while True:
                    os.write(write, listener.accept()[0].recv(1000))
            finally:
                os._exit(1)

    def received():
        os.kill(stranger, signal.SIGKILL)
        os.waitpid(stranger, 0)
        with open(read, "rb") as said:
            return said.read()

    os.close(write)
    assert os.read(read, 1) == b"!"
    yield received


class TestD6:
    """Nothing is sent to anybody but this user's own server."""

    def test_a_folder_of_another_user(self, sticky):
        folder = sticky / "exparity-1-x"
        folder.mkdir()
        os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
        folder.chmod(0o700)
        with false_server(folder / "warm") as received:
            assert result("leave", "4", env=at(folder)) == (4, "cold\n", "")
            assert received() == b""

    def test_a_server_of_another_user_in_a_folder_of_this_one(self, sticky):
        folder = sticky / "exparity-1-x"
        folder.mkdir(mode=0o700)
        with false_server(folder / "warm") as received:
            assert result("leave", "4", env=at(folder)) == (4, "cold\n", "")
            assert received() == b""

    @pytest.mark.parametrize("mode", [0o755, 0o777, 0o1777, 0o770], ids=oct)
    def test_a_folder_that_others_may_enter(self, mode, tmp_path):
        folder = tmp_path / "exparity-1-x"
        folder.mkdir()
        folder.chmod(mode)
        with false_server(folder / "warm", as_nobody=False) as received:
            assert result("leave", "4", env=at(folder)) == (4, "cold\n", "")
            assert received() == b""

    def test_a_link_in_the_place_of_a_folder(self, tmp_path):
        (tmp_path / "true").mkdir(mode=0o700)
        (tmp_path / "link").symlink_to(tmp_path / "true")
        with false_server(tmp_path / "true" / "warm", as_nobody=False) as received:
            assert result("leave", "4", env=at(tmp_path / "link")) == (4, "cold\n", "")
            assert received() == b""

    def test_the_server_answers_its_own_user_alone(self, server, tmp_path):
        """Should its folder be open to others nonetheless."""
        address = Path(os.environ["EXPARITY_WARM"])
        for path in (address, *address.parents):
            with suppress(OSError):
                path.chmod(path.stat().st_mode | 0o005)

        def connect():
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(60)
                connection.connect("warm")
                return connection.recv(1) == b""

        address.chmod(0o777)
        before = os.getcwd()
        os.chdir(address.parent)
        try:
            with nobody(connect):
                pass
        finally:
            os.chdir(before)
            address.parent.chmod(0o700)
        assert result("leave", "4")[:2] == (4, "")

    def test_another_user_gives_up_at_once(self, server):
        address = Path(os.environ["EXPARITY_WARM"])
        with nobody(lambda: client._served(address, {}, print) is None):
            assert result("leave", "4")[:2] == (4, "")


def at(folder):
    """The environment of a job that is told of a server in a folder."""
    return {"EXPARITY_WARM": str(folder / "warm"), "PYTHONPATH": PATHS}
