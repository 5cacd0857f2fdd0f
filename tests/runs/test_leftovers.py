"""Jobs of a killed run: cancelled if they are this folder's and Snakemake's, and no others."""

import os
from pathlib import Path

import pytest

from exparity.runs.leftovers import cancel_leftovers

SQUEUE = """#!/bin/sh
[ -e {gone} ] || echo "7|{here}|rule_tests_test"
echo "8|/elsewhere|rule_finetune_wildcards_a"
echo "9|{here}|a session of somebody's own"
"""


@pytest.fixture
def queue(tmp_path, monkeypatch) -> Path:
    """A queue of three jobs; the file that it returns appears when jobs are cancelled."""
    gone = tmp_path / "gone"
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in {
        "squeue": SQUEUE.format(gone=gone, here=tmp_path),
        "scancel": f'#!/bin/sh\necho "$@" > {gone}\n',
    }.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    return gone


def test_only_this_folders_jobs_are_cancelled(queue, capsys):
    cancel_leftovers()
    assert queue.read_text() == "7\n"
    assert "cancelled 1 job that an earlier run had left in the queue" in capsys.readouterr().err


def test_with_an_empty_queue_nothing_is_said(queue, capsys):
    queue.touch()
    cancel_leftovers()
    assert queue.read_text() == ""
    assert capsys.readouterr().err == ""


def test_a_machine_without_slurm_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    cancel_leftovers()
