"""Signals end a Snakemake also where its own handlers would not."""

import signal
import subprocess
import sys

import pytest

BEGIN = """
import os, signal, sys, threading
from functools import partial
from types import SimpleNamespace
from snakemake.logging import ColorizingTextHandler, logger
from snakemake.scheduling.job_scheduler import JobScheduler
sys.argv[0] = "snakemake"
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a background of a shell
from exparity.runs.signals import end_on_signals
end_on_signals(SimpleNamespace(is_main_process=True))
"""
LOCK_IS_HELD = """
scheduler = SimpleNamespace(_lock=threading.Lock(), _open_jobs=threading.Semaphore())
signal.signal(signal.SIGTERM, partial(JobScheduler.exit_gracefully, scheduler))
with scheduler._lock:
    os.kill(os.getpid(), signal.SIGTERM)
"""
LOGGER_WRITES = """
def write(text):
    if "progress" in text:
        os.kill(os.getpid(), signal.SIGINT)
logger.addHandler(ColorizingTextHandler(stream=SimpleNamespace(write=write, flush=lambda: None)))
logger.warning("progress")
"""


@pytest.mark.parametrize(
    ("moment", "number"), [(LOCK_IS_HELD, signal.SIGTERM), (LOGGER_WRITES, signal.SIGINT)]
)
def test_a_signal_ends_a_snakemake_at_any_moment(moment, number):
    """Its scheduler holds the lock that its handler takes, or its logger drops the exception."""
    script = f"{BEGIN}{moment}\nimport time\ntime.sleep(600)"
    run = subprocess.run(
        [sys.executable, "-c", script], stderr=subprocess.PIPE, text=True, timeout=100
    )
    assert run.returncode == 128 + number
    (line,) = run.stderr.splitlines()
    assert line.startswith("exparity: stopped; ")


def test_it_ends_where_nobody_reads_what_it_says():
    script = f"{BEGIN}{LOCK_IS_HELD}\nimport time\ntime.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE) as run:
        run.stderr.close()
        try:
            assert run.wait(60) == 128 + signal.SIGTERM
        finally:
            run.kill()
