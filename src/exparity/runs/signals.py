"""SIGTERM and Ctrl-C end a Snakemake, whatever its main thread does.

Snakemake's handler of SIGTERM takes a lock that the main thread may hold, which then waits for
itself; an exception of Ctrl-C is lost where it is raised in a logger or a callback, and the run
goes on. Here the main thread stops for good, and another one tells the jobs to end, waits for
them and ends the process. As after a kill, the next run goes on with the files as they are.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import psutil

from exparity.runs.queue import cancel
from exparity.warm.messages import SERVER

STOPPED = "exparity: stopped; finished jobs and parts of jobs stay, and the same command goes on"
_ENDING = (signal.SIGTERM, signal.SIGINT)
_PATIENCE = 3  # seconds, until a run says that it waits for its jobs


class _Ending:
    """What ends this process on a signal."""

    def __init__(self, workflow: Any) -> None:
        self._workflow = workflow
        self._has_queue = False
        self._received = False
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        threading.Thread(target=self._wait, name="exparity signals", daemon=True).start()

    def listen(self) -> None:
        """Take the signals, but those that this process was started to ignore."""
        for number in _ENDING:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, _stand_still)

    def own_queue(self) -> None:
        """Have the jobs that this folder has in a queue cancelled; its lock must be held."""
        self._has_queue = True

    def hides(self, record: logging.LogRecord) -> bool:
        """Whether a record is an error of a job that was told to end, which is none."""
        return self._received and record.levelno >= logging.ERROR

    def _wait(self) -> None:
        number = self._next()
        self._received = True
        if self._has_queue:
            _say(STOPPED)
            cancel()
        else:
            self._end_jobs()
            if self._workflow.is_main_process:
                _say(STOPPED)
        os._exit(128 + number)

    def _next(self) -> int:
        """Return the next signal that ends a run."""
        while True:
            for number in os.read(self._reader, 1):
                if number in _ENDING:
                    return number

    def _end_jobs(self) -> None:
        """Tell the jobs to end, those also that are just about to start, and wait for them."""
        notified: set[psutil.Process] = set()
        deadline = time.monotonic() + _PATIENCE
        while jobs := {job for job in notified | _jobs() if _lives(job)}:
            for job in jobs - notified:
                _send(job, signal.SIGTERM)
            notified |= jobs
            if time.monotonic() > deadline:
                deadline = float("inf")
                if self._workflow.is_main_process:
                    _say(_waits_for(jobs))
            if select.select((self._reader,), (), (), 0.1)[0] and self._next():
                for job in jobs:
                    _send(job, signal.SIGKILL)


def _stand_still(number: int, frame: FrameType | None) -> None:
    """Keep the main thread from starting jobs; the process ends meanwhile."""
    threading.Event().wait()


def _jobs() -> set[psutil.Process]:
    """Return the processes below this one, without the server of its jobs: it ends after them."""
    jobs: set[psutil.Process] = set()
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):
            if child.name() != SERVER:
                jobs |= {child, *child.children(recursive=True)}
    return jobs


def _lives(job: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return job.is_running() and job.status() != psutil.STATUS_ZOMBIE
    return False


def _send(job: psutil.Process, number: int) -> None:
    with suppress(psutil.NoSuchProcess):
        job.send_signal(number)


def _waits_for(jobs: set[psutil.Process]) -> str:
    """Return the line that names what a run waits for."""
    names = []
    for job in jobs:
        with suppress(psutil.NoSuchProcess):
            programs = [Path(word).name for word in job.cmdline()]
            if "exparity" in programs[:2]:
                names += programs[programs.index("exparity") + 1 :][:1]
    count = len(names) or len(jobs)
    what = "1 job saves" if count == 1 else f"{count} jobs save"
    listed = f" ({', '.join(sorted(names))})" if names else ""
    return f"exparity: stopping; {what} what is finished{listed}; Ctrl-C again ends at once"


def _say(line: str) -> None:
    """Print a line, unless nobody takes it; the main thread may hold the lock of ``sys.stderr``."""
    if select.select((), (2,), (), 1)[1]:
        with suppress(OSError):  # who has read it is gone
            os.write(2, f"{line}\n".encode())


_ending: _Ending | None = None


def end_on_signals(workflow: Any) -> None:
    """Have SIGTERM and Ctrl-C end this process, where it is a Snakemake of the command line."""
    global _ending
    is_command = "snakemake" in Path(sys.argv[0]).parts[-2:]
    if not is_command or threading.current_thread() is not threading.main_thread():
        return
    if _ending is None:
        from snakemake.logging import logger

        ending = _Ending(workflow)
        logger.addFilter(lambda record: not ending.hides(record))
        _ending = ending
    _ending.listen()


def own_queue() -> None:
    """Have the signals also cancel the jobs that this run has in a queue; its lock must be held."""
    if _ending is not None:
        _ending.own_queue()
