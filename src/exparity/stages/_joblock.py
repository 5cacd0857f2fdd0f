"""A lock that one cell's job holds, released by the kernel however the job ends."""

from __future__ import annotations

import fcntl
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

log = logging.getLogger(__name__)


@contextmanager
def job_lock(path: Path) -> Iterator[None]:
    """Hold ``path`` exclusively; wait for another job of the same cell.

    Such a job exists where the workflow was killed and started again: its jobs live on.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log.warning("another job is working on the same cell; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
