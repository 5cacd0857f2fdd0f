"""A SLURM that forgets how jobs end is refused, and jobs of a killed run are cancelled."""

import os
import time
from types import SimpleNamespace

import pytest
from support import write_program

from exparity.runs import queue
from exparity.runs.queue import cancel_leftovers, check_ends_are_told

KEEPS = "echo 'MinJobAge               = 300 sec'"
FORGETS = "echo 'MinJobAge               = 10 sec'"
DISABLED = "echo 'Slurm accounting storage is disabled' >&2; exit 1"


@pytest.fixture
def slurm(tmp_path_factory, monkeypatch):
    """Return a function that puts commands on the path."""
    folder = tmp_path_factory.mktemp("bin")
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/bin")

    def install(**commands: str) -> None:
        for name, script in commands.items():
            write_program(folder / name, script)

    return install


def settings(command: str = "squeue") -> SimpleNamespace:
    return SimpleNamespace(status_command=command, init_seconds_before_status_checks=5)


@pytest.mark.parametrize(
    ("scontrol", "sacct", "asked"),
    [("exit 1", "true", "squeue"), (FORGETS, "true", "sacct"), (KEEPS, DISABLED, "squeue")],
)
def test_one_that_tells_is_used(scontrol, sacct, asked, slurm, capsys):
    slurm(scontrol=scontrol, sacct=sacct)
    check_ends_are_told(settings(asked))
    assert not capsys.readouterr().err


@pytest.mark.parametrize(
    ("scontrol", "asked", "reason"),
    [
        ("exit 1", "squeue", "names no MinJobAge; have MinJobAge set to 300"),
        ("sleep 99", "sacct", "names no MinJobAge; have MinJobAge set to 300"),
        (FORGETS, "squeue", "MinJobAge is 10 s; have MinJobAge set to 300"),
        (KEEPS, "sacct", "sacct gives no answer here; set slurm-status-command: squeue"),
    ],
)
def test_one_that_does_not_tell_is_refused(scontrol, asked, reason, slurm, capsys, monkeypatch):
    monkeypatch.setattr(queue, "_PATIENCE", 1)
    slurm(scontrol=scontrol, sacct=DISABLED)
    begun = time.monotonic()
    with pytest.raises(SystemExit) as end:
        check_ends_are_told(settings(asked))
    assert end.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("exparity: ")
    assert said.count("\n") == 1
    assert reason in said
    assert time.monotonic() - begun < 60


SQUEUE = """
[ -e {gone} ] || echo "7|{here}|rule_tests_test"
echo "8|/elsewhere|rule_finetune_wildcards_a"
echo "9|{here}|a session of somebody's own"
"""


def test_only_this_folders_jobs_are_cancelled(slurm, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    gone = tmp_path / "gone"
    slurm(squeue=SQUEUE.format(gone=gone, here=tmp_path), scancel=f'echo "$@" > {gone}')
    cancel_leftovers()
    assert gone.read_text() == "7\n"
    assert "cancelled 1 job that an earlier run had left in the queue" in capsys.readouterr().err
    cancel_leftovers()
    assert capsys.readouterr().err == ""


def test_a_machine_without_slurm_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    cancel_leftovers()
