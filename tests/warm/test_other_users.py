"""Another user neither stops nor reads runs.

The user is played by ``nobody``, which takes root.
"""

import os
import pwd
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from contextlib import contextmanager

import pytest
from support import need
from warm.conftest import HERE, PATHS, address, environment, result

from exparity.warm import messages, start

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")


def run_in(folder, **how):
    """A run whose temporary files go to a folder, with one job; it prints "cold" if that is so."""
    code = (
        "import subprocess, sys\n"
        "from exparity.warm.start import start_server\n"
        "start_server('jobs:run')\n"
        f"job = [sys.executable, {str(HERE / 'client.py')!r}, 'leave', '5']\n"
        "sys.exit(subprocess.run(job).returncode)\n"
    )
    more = {"PYTHONPATH": PATHS, "TMPDIR": str(folder), "EXPARITY_WARM": ""}
    with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
        script.write(code)
        script.flush()
        return subprocess.run(
            [sys.executable, script.name],
            env=environment(**dict.fromkeys(start.THREAD_VARIABLES, "1"), **more),
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


def test_nothing_is_imported_from_the_working_folder(tmp_path):
    folder = tmp_path / "writable by all"
    folder.mkdir()
    for name in (*sys.stdlib_module_names, "exparity", "numpy", "psutil", "torch", "sitecustomize"):
        (folder / f"{name}.py").write_text(f"open('RAN-{name}', 'w')\n")
    run = run_in(tmp_path, cwd=folder)
    assert list(folder.glob("RAN-*")) == []
    assert is_served(run)


def test_a_server_of_another_user_gets_nothing():
    name = f"exparity-taken-{os.getpid()}"

    def take():
        listener = socket.socket(socket.AF_UNIX, messages.KIND)
        listener.bind(f"\0{name}")
        listener.listen(8)
        return listener

    with nobody(take):
        at = {"EXPARITY_WARM": name, "PYTHONPATH": PATHS}
        assert result("leave", "4", env=at) == (4, "cold\n", "")


def test_the_server_answers_its_own_user_alone(server):
    def connect():
        with socket.socket(socket.AF_UNIX, messages.KIND) as connection:
            connection.settimeout(60)
            connection.connect(address())
            return connection.recv(1) == b""

    with nobody(connect):
        assert result("leave", "4")[:2] == (4, "")
