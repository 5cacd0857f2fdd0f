"""Jobs of a submission that follow each other in one worker, which keeps what it has loaded."""

import os
import resource
import signal
import sys
from types import SimpleNamespace

import psutil
import pytest
from support import is_gone
from warm.conftest import begin, result, worker_of

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only"),
    pytest.mark.parametrize("server", [("jobs:stay",)], indirect=True),
    pytest.mark.usefixtures("server"),
]


def worker_that_did(*arguments, **how):
    code, output, errors = result(*arguments, **how)
    assert (code, errors) == (0, "")
    return output.split()


def test_a_worker_does_one_job_after_the_other_each_in_its_own_environment(tmp_path):
    first = worker_that_did("mark", str(tmp_path / "marks"), env={"TMPDIR": "/"})
    second = worker_that_did("mark", str(tmp_path / "marks"), cwd=tmp_path)
    assert second == [first[0], str(os.environ.get("TMPDIR")), str(tmp_path)]
    assert first[1:] == ["/", os.getcwd()]
    assert (tmp_path / "marks").read_text() == "done\n" * 2


@pytest.mark.parametrize(("end", "code"), [("fail", 1), ("leave", 3), ("killed", -9)])
def test_a_job_that_fails_ends_its_worker_and_no_other_job(end, code, tmp_path):
    first, *_ = worker_that_did("mark", str(tmp_path / "marks"))
    assert result(end, "3")[0] == code
    second, *_ = worker_that_did("mark", str(tmp_path / "marks"))
    assert second != first


def test_code_of_the_users_own_is_loaded_anew(tmp_path):
    plugin = tmp_path / "of_the_user.py"
    plugin.write_text("SAYS = 1\n")
    first, *_ = worker_that_did("load", str(plugin))
    assert worker_that_did("load", str(plugin))[0] != first


def test_a_name_that_begins_as_a_package_is_none(monkeypatch):
    from exparity.warm import server

    before = {*sys.modules}
    package = os.path.dirname(server.exparity.__file__)
    for folder, is_own in ((package, False), (f"{package}_plugins", True)):
        module = SimpleNamespace(__file__=os.path.join(folder, "mine.py"))
        monkeypatch.setitem(sys.modules, "mine", module)
        assert server._has_own_code(before | {*sys.modules} - {"mine"}) == is_own


def test_what_a_worker_has_tried_others_know(tmp_path):
    first, *_ = worker_that_did("tries", "a size")[1:]
    job = begin("sleep")
    worker = worker_of(job)
    assert str(worker.pid) == first
    second, *_ = worker_that_did("tries", "a size")
    assert second not in (first, "tried")
    job.kill()
    job.communicate()


def test_a_signal_between_jobs_is_for_nobody(tmp_path):
    first, *_ = worker_that_did("mark", str(tmp_path / "marks"))
    assert psutil.Process(int(first)).name() == "warm idle"
    os.kill(int(first), signal.SIGTERM)
    assert worker_that_did("mark", str(tmp_path / "marks"))[0] == first


def test_jobs_side_by_side_have_a_worker_each(tmp_path):
    job = begin("sleep")
    worker = worker_of(job)
    assert worker_that_did("mark", str(tmp_path / "marks"))[0] != str(worker.pid)
    job.kill()
    job.communicate()
    assert is_gone(worker)


def test_a_worker_ends_with_the_run_which_counts_its_time(server):
    worker, *_ = worker_that_did("work", "1")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    server.stdin.close()
    assert server.wait(60) == 0
    assert not psutil.pid_exists(int(worker))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime > 0.9
