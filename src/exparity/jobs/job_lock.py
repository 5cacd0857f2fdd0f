"""A lock that one cell's job holds, released by the kernel however the job ends."""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

log = logging.getLogger(__name__)


@contextmanager
def job_lock(path: Path) -> Iterator[bool]:
    """Hold ``path`` exclusively; wait for another job of the same cell.

    Such a job exists where the workflow was killed and started again: its jobs live on. The holder
    may remove the file; who waited for it then makes a new one.

    Yields:
        True if another job held it first, and may have finished the work.
    """
    waited = False
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if not waited:
                    log.warning("another job is working on the same cell; waiting for it")
                waited = True
                fcntl.flock(file, fcntl.LOCK_EX)
            if _is(path, file.fileno()):
                yield waited
                return


def _is(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
