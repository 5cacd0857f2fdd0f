"""One run at a time in a folder and in its results, one job at a time for a cell; none goes stale.

The kernel drops a lock when its process ends, however it ends, so that a killed run can be started
again at once. Snakemake's own lock files outlive a kill and need ``--unlock``. What else keeps two
runs apart, and which does what, says docs/cluster.md.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NoReturn

log = logging.getLogger(__name__)

_held: list[IO[str]] = []
_NOT_WRITABLE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT}
# Of NFS without its lock service, of Lustre without the mount option `flock`, and of others.
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}


def hold(path: Path, what: str) -> None:
    """Lock a file for the rest of this process, or say who has it and exit with 2.

    The lock is on the file and not on its name, so that links to its folder lead to the same lock.
    A process may take its own lock again: for several studies in one folder, or one in two modules.
    A file system without locks keeps no other run out, which a caution says.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+", encoding="utf-8", errors="replace")
        again = any(
            os.path.sameopenfile(file.fileno(), locked_file.fileno()) for locked_file in _held
        )
        _held.append(file)
        if again:
            return
        if lack := _lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB):
            print(f"exparity: {path}: {lack}; start no second run on {what}", file=sys.stderr)
            return
        file.truncate(0)
        user = os.environ.get("USER", os.getuid())
        file.write(f"process {os.getpid()} of {user} on {socket.gethostname()}")
        file.flush()
    except BlockingIOError:
        file.seek(0)
        owner = file.read(200) or "which has just begun"
        give_up(f"another run is using {what} ({owner}); wait for it or stop it")
    except OSError as error:
        if error.errno in _NOT_WRITABLE:
            give_up(f"{path.parent}: cannot be written: {error.strerror}")
        give_up(f"{path}: cannot be locked: {error.strerror}")


def give_up(reason: str) -> NoReturn:
    """Say why a run cannot begin, and exit with 2."""
    print(f"exparity: {reason}", file=sys.stderr)
    raise SystemExit(2)


@contextmanager
def job_lock(path: Path) -> Iterator[bool]:
    """Hold ``path`` exclusively; wait for another job of the same cell, and yield whether one was.

    Such a job exists where the workflow was killed and started again: its jobs live on. The holder
    may remove the file; who waited for it then makes a new one.
    """
    waited = False
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w") as file:
            try:
                lack = _lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if not waited:
                    log.warning("another job is working on the same cell; waiting for it")
                waited = True
                lack = _lock(file, fcntl.LOCK_EX)
            if lack:
                log.warning("%s: %s; a second job of this cell would not wait", path.parent, lack)
            if _is(path, file.fileno()):
                yield waited
                return


def _lock(file: IO[str], operation: int) -> str:
    """Lock a file; return why its file system cannot, empty if it is locked."""
    try:
        fcntl.flock(file, operation)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        return f"this file system has no locks ({error.strerror})"
    return ""


def _is(path: Path, descriptor: int) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    return False
