"""A job in a worker behaves as one in a process of its own."""

import os
import resource
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from support import is_gone, run_code, wait_until
from warm.conftest import PATHS, address, begin, environment, result, worker_of

from exparity.warm import messages, start
from exparity.warm.process import read_by_imports

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")


SESSION = {
    "PS1": "(.venv) $ ", "VIRTUAL_ENV_PROMPT": "(.venv) ", "PROMPT_COMMAND": "true",
    "CONDA_SHLVL": "2", "CONDA_PROMPT_MODIFIER": "(base) ", "CONDA_DEFAULT_ENV": "base",
    "DIRENV_DIR": "-/x", "DIRENV_DIFF": "eJx", "TMUX": "/tmp/1", "TMUX_PANE": "%1",
    "TERM_PROGRAM": "vscode", "VSCODE_IPC_HOOK_CLI": "/run/1", "SSH_TTY": "/dev/pts/1",
    "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURMD_NODENAME": "n", "PMI_RANK": "0",
    "BASH_FUNC_module%%": "() { true; }", "HISTSIZE": "9", "SHELLOPTS": "braceexpand",
}  # fmt: skip
"""Shells, multiplexers, editors and batch systems set these."""


@pytest.mark.usefixtures("server")
class TestSame:
    def test_a_worker_looks_like_a_process_of_its_own(self, tmp_path):
        folder = tmp_path / "elsewhere"
        folder.mkdir()
        arguments = ("portrait", "--x", "é")
        how = {"stdin": "typed", "cwd": folder, "env": {"TMPDIR": "/tmp"}}
        code, output, errors = result(*arguments, **how)
        expected = result(*arguments, warm=False, **how)
        assert (code, output.replace(os.environ["EXPARITY_WARM"], "0"), errors) == expected
        assert '"typed"' in output

    @pytest.mark.parametrize("end", ["0", "3", "null", '"it ended"'])
    def test_a_job_ends_as_it_does_without_a_server(self, end):
        assert result("leave", end) == result("leave", end, warm=False)

    def test_an_exception_ends_a_job_with_its_traceback(self):
        code, output, errors = result("fail")
        assert (code, output) == (1, "")
        assert errors.splitlines()[-1] == "ValueError: wrong"


@pytest.mark.usefixtures("server")
class TestSignals:
    def test_a_signal_reaches_the_worker_once(self):
        job = begin("trap")
        worker = worker_of(job)
        job.send_signal(signal.SIGTERM)
        assert (*job.communicate(timeout=60), job.returncode) == ("got 15\n", "", 7)
        assert is_gone(worker)

    def test_a_signal_that_arrives_just_before_its_client_waits_reaches_the_worker(self):
        job = begin("signal-before-poll", "sleep")
        job.communicate(timeout=60)
        assert job.returncode == -signal.SIGTERM

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
    def test_a_signal_that_ends_the_worker_ends_the_job(self, number):
        job = begin("sleep")
        worker_of(job).send_signal(number)
        job.communicate(timeout=60)
        assert job.returncode == -number

    def test_no_worker_outlives_its_job(self):
        job = begin("sleep")
        worker = worker_of(job)
        job.kill()
        job.communicate()
        assert is_gone(worker)

    def test_an_interrupt_of_the_whole_group_ends_the_job_and_no_server(self, server):
        job = begin("sleep", start_new_session=True)
        worker = worker_of(job)
        os.killpg(job.pid, signal.SIGINT)
        server.send_signal(signal.SIGINT)  # it is of the terminal's group
        errors = job.communicate(timeout=60)[1]
        assert errors.splitlines()[-1] == "KeyboardInterrupt"
        assert is_gone(worker)
        assert result("leave", "4")[0] == 4

    def test_a_batch_system_that_ends_every_process_lets_the_worker_end_in_order(self, server):
        job = begin("trap")
        worker = worker_of(job)
        for process in (server, job):
            process.send_signal(signal.SIGTERM)
        assert (*job.communicate(timeout=60), job.returncode) == ("got 15\n", "", 7)
        assert is_gone(worker)
        assert result("leave", "4")[:2] == (4, "")


class TestServer:
    def test_jobs_of_a_killed_server_run_where_they_are(self, server):
        job = begin("trap")
        worker = worker_of(job)
        server.kill()
        assert job.stdout.readline() == "cold\n"
        assert is_gone(worker)
        assert worker_of(job).pid == job.pid
        job.send_signal(signal.SIGTERM)
        assert job.communicate(timeout=60)[0] == "got 15\n"
        assert result("leave", "3")[:2] == (3, "cold\n")

    def test_it_ends_with_the_run_after_its_last_job(self, server):
        job = begin("trap")
        worker_of(job)
        server.stdin.close()
        assert result("leave", "3")[:2] == (3, "cold\n")
        assert server.poll() is None
        job.send_signal(signal.SIGTERM)
        assert job.communicate(timeout=60)[0] == "got 15\n"
        assert job.returncode == 7
        assert server.wait(60) == 0

    @pytest.mark.parametrize(
        ("how", "reason"),
        [
            ({"env": {"OMP_NUM_THREADS": "2"}}, "another environment (OMP_NUM_THREADS)"),
            ({"env": {"PYTHONWARNINGS": "ignore"}}, "another Python"),
            ({"preexec_fn": lambda: os.setgroups([1])}, "another user"),
            (
                {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (200, 300))},
                "another limits",
            ),
        ],
    )
    def test_what_it_cannot_serve_runs_where_it_is(self, how, reason, server, tmp_path):
        for _ in range(2):
            assert result("leave", "5", **how)[:2] == (5, "cold\n")
        assert result("leave", "5")[:2] == (5, "")
        line = f"exparity: jobs start anew, which takes seconds each: {reason}\n"
        assert (tmp_path / "server.txt").read_text() == line  # once

    @pytest.mark.parametrize("of_the_job", [True, False], ids=["job", "server"])
    def test_what_a_session_sets_is_no_other_environment(self, of_the_job, request, monkeypatch):
        if not of_the_job:
            for name, value in SESSION.items():
                monkeypatch.setenv(name, value)
        request.getfixturevalue("server")
        for name in SESSION:
            monkeypatch.delenv(name, raising=False)
        own = SESSION if of_the_job else {}
        portrait = result("portrait", env=own)
        assert "cold" not in portrait[1]
        cold = result("portrait", warm=False, env=own)
        assert portrait[1].replace(os.environ["EXPARITY_WARM"], "0") == cold[1]

    @pytest.mark.parametrize("server", [("pyarrow.parquet", "threaded")], indirect=True)
    def test_no_warning_of_threads_that_do_no_harm(self, server, tmp_path):
        """From 3.12 on, Python warns of any thread that there is at a fork."""
        assert result("leave", "5")[:2] == (5, "")
        assert (tmp_path / "server.txt").read_text() == ""

    def test_it_imports_what_jobs_import(self, server):
        assert result("imports")[1] == "False\n"
        imported = Path(f"/proc/{server.pid}/maps")
        assert "safetensors" not in imported.read_text()  # there may be no other job
        wait_until(lambda: result("imports")[1] == "True\n")  # it hears of it when a job has ended

    def test_it_knows_what_jobs_have_tried(self, server):
        assert result("tries", "a size")[1] == "tried\n"
        assert result("tries", "a size")[1] == ""
        assert result("tries", "another")[1] == "tried\n"

    @pytest.mark.parametrize("server", [("safetensors",)], indirect=True)
    def test_it_imports_ahead_of_the_first_job(self, server):
        assert result("imports")[1] == "True\n"


def send(content, files=()):
    """Connect to the server as anything but a job might, and send bytes."""
    connection = socket.socket(socket.AF_UNIX, messages.KIND)
    connection.connect(address())
    if content:
        socket.send_fds(connection, [content], files)
    return connection


class TestBadClients:
    """No client ends the server or keeps it from others."""

    def test_clients_that_die_leave_no_files_open(self, server):
        files = Path("/proc", str(server.pid), "fd")
        assert result("leave", "4")[:2] == (4, "")
        before = len(list(files.iterdir()))
        for number in range(40):
            send(b"{}" if number % 2 else b"{", [0, 1, 2]).close()
        assert result("leave", "4")[:2] == (4, "")
        wait_until(lambda: len(list(files.iterdir())) <= before)

    def test_a_worker_begins_when_its_client_says_so(self, server, tmp_path):
        """One that gave up meanwhile does the job itself."""
        marks = tmp_path / "marks.txt"
        code = """
import os, select, socket, sys
from exparity.warm import messages
from exparity.warm.process import request_of_job

request = request_of_job()
connection = socket.socket(socket.AF_UNIX, messages.KIND)
connection.connect("\\0" + os.environ["EXPARITY_WARM"])
messages.receive(connection)
messages.send(connection, request, (0, 1, 2))
_, (worker,) = messages.receive(connection, 1)
if sys.argv.pop() == "begin":
    messages.send(connection, {})
else:
    connection.close()
poll = select.poll()
poll.register(worker, select.POLLIN)
poll.poll()
"""
        run_code(code, "mark", marks, "leave", env=environment(), timeout=60)
        assert not marks.exists()
        run_code(code, "mark", marks, "begin", env=environment(), timeout=60)
        assert marks.read_text() == "done\n"


def is_socket(file):
    with suppress(OSError):  # closed by now
        return os.readlink(file).startswith("socket:")
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_arrives_before_a_worker_ends_the_job_at_once(number, server, tmp_path):
    """A server does not answer for seconds, while it imports torch."""
    server.send_signal(signal.SIGSTOP)
    marks = tmp_path / "marks"
    job = begin("mark", str(marks))
    wait_until(lambda: any(map(is_socket, Path("/proc", str(job.pid), "fd").iterdir())))
    job.send_signal(number)
    assert job.communicate(timeout=20) == ("", "")
    assert job.returncode == -number
    server.send_signal(signal.SIGCONT)
    assert result("leave", "4") == (4, "", "")
    assert not marks.exists()


def test_a_server_that_is_stopped_keeps_one_job_waiting(server):
    assert result("leave", "4") == (4, "", "")  # it is up
    server.send_signal(signal.SIGSTOP)
    assert result("patience=1", "leave", "4") == (4, "cold\n", "")
    assert server.wait(60) == -signal.SIGKILL
    assert result("leave", "4") == (4, "cold\n", "")


@pytest.mark.exhaustive
def test_no_import_reads_what_sessions_set():
    code = """
import importlib, os, sys
read = set()
kind = type(os.environ)
get = kind.__getitem__
kind.__getitem__ = lambda self, name: (read.add(name), get(self, name))[1]
kind.__contains__ = lambda self, name: (read.add(name), self.encodekey(name) in self._data)[1]
for name in sys.argv[1:]:
    module, _, function = name.partition(":")
    module = importlib.import_module(module)
    function and getattr(module, function)()
print(*read)
"""
    libraries = ["accelerate", "captum.attr", "lime.lime_text", "pandas", "scipy.stats", "shap"]
    # Some look through all variables there are: these are none of them.
    few = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}
    read = run_code(code, "exparity.cli", *start.ENGINE, *libraries, env=few).split()
    assert len(read) > 100  # it sees what is read
    late = {"PWD", "OLDPWD", "COLUMNS", "LINES", "SHLVL", "_", "TMP", "TMPDIR", "TEMP"}
    late.add("TORCHINDUCTOR_CACHE_DIR")  # torch sets it as well, and keeps compiled code there
    assert {name for name in read if not read_by_imports(name)} <= late


def test_it_can_be_switched_off(monkeypatch):
    monkeypatch.setenv("EXPARITY_WARM", "0")
    assert start.start_server("jobs:run") is None
    assert os.environ["EXPARITY_WARM"] == "0"


def test_a_platform_without_it_is_named(monkeypatch, capsys):
    monkeypatch.setenv("EXPARITY_WARM", "")
    monkeypatch.delattr(os, "pidfd_open")
    assert start.start_server("jobs:run") is None
    assert "exparity: no warm workers, every job starts anew: " in capsys.readouterr().err
    assert os.environ["EXPARITY_WARM"] == ""


def test_killing_the_run_ends_its_server(tmp_path):
    code = (
        "import time; from exparity.warm.start import start_server\n"
        "print(start_server('jobs:run').pid, flush=True); time.sleep(60)"
    )
    env = environment(PYTHONPATH=PATHS, TMPDIR=str(tmp_path), EXPARITY_WARM="")
    run = subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE)
    server = psutil.Process(int(run.stdout.readline()))
    run.kill()
    run.communicate()
    assert is_gone(server)
    assert list(tmp_path.iterdir()) == []
