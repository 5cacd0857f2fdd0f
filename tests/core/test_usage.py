"""What a process says it has used."""

import ast
import sys

import pytest
from support import run_code

from exparity.core import usage

BIG = 120  # MB


def used_by(code: str) -> dict:
    """Run code in a process of its own, started by one that holds much memory."""
    starter = (
        f"import subprocess, sys; held = bytearray({BIG} << 20); held[::4096] = held[::4096]\n"
        f"sys.exit(subprocess.run([sys.executable, '-c', {code!r}]).returncode)"
    )
    return ast.literal_eval(run_code(starter))


def test_memory_is_the_process_s_own_peak():
    code = "from exparity.core.usage import usage; {}; print(usage())"
    small = used_by(code.format("pass"))
    large = used_by(code.format(f"bytearray(b'x' * ({BIG} << 20))"))
    assert small["max_rss_mb"] < BIG  # not that of what started it
    assert large["max_rss_mb"] > BIG  # though it is given back by then


def test_where_there_is_no_proc(monkeypatch, tmp_path):
    monkeypatch.setattr(usage, "_STATUS", tmp_path / "none")
    peak = usage.usage()["max_rss_mb"]
    assert peak > 20
    monkeypatch.setattr(sys, "platform", "darwin")  # which counts in bytes
    assert usage.usage()["max_rss_mb"] == pytest.approx(peak / 1024, abs=0.1)


def test_it_begins_anew_with_each_job_of_a_process():
    code = (
        f"from exparity.core.usage import begin_usage, usage; bytearray(b'x' * ({BIG} << 20))\n"
        "sum(i * i for i in range(10 ** 6)); begin_usage(); print(usage())"
    )
    used = used_by(code)
    assert used["max_rss_mb"] < BIG
    assert used["cpu_seconds"] < 0.02


CONTAINER, JOB = 2 << 30, 1 << 30  # bytes


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has control groups")
@pytest.mark.parametrize(
    ("groups", "limits"),
    [
        (
            "0::/job/step",
            {"memory.max": CONTAINER, "job/memory.max": JOB, "job/step/memory.max": "max"},
        ),
        (
            "5:cpu:/\n4:memory:/job\n0::/",
            {"memory/memory.limit_in_bytes": CONTAINER, "memory/job/memory.limit_in_bytes": JOB},
        ),
    ],
    ids=["version 2", "version 1"],
)
def test_a_share_is_of_the_memory_that_a_batch_system_leaves(groups, limits, tmp_path, monkeypatch):
    for name, limit in limits.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{limit}\n")
    (tmp_path / "groups").write_text(f"{groups}\n")
    monkeypatch.setattr(usage, "_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(usage, "_LIMITS", tmp_path)
    monkeypatch.setattr(usage.os, "sched_getaffinity", lambda _: {0, 1})
    share = JOB // 4  # half of what each core has
    monkeypatch.setattr(usage, "memory_held", lambda: share)
    assert not usage.holds_more_than_its_share()
    monkeypatch.setattr(usage, "memory_held", lambda: share + 1)
    assert usage.holds_more_than_its_share()


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc has malloc_trim")
def test_freed_memory_is_returned_where_there_is_much_of_it():
    """Blocks with gaps between them stay with the process until it asks to return them."""
    code = (
        "from exparity.core.device import give_back_memory\n"
        "from exparity.core.usage import memory_held\n"
        "def freed(megabytes):\n"
        "    blocks = [bytearray(b'x' * 100_000) for _ in range(megabytes * 10)]\n"
        "    gaps, before = blocks[::10], memory_held()\n"
        "    del blocks\n"
        "    give_back_memory()\n"
        "    return gaps, (before - memory_held()) / 1e6\n"
        "first, second, third = freed(200), freed(80), freed(200)\n"
        "print([returned for _, returned in (first, second, third)])"
    )
    much, little, much_again = ast.literal_eval(run_code(code))
    assert much > 150
    assert little < 10
    assert much_again > 150
