"""One run at a time in a folder, without stale locks.

The kernel drops the lock when its process ends, however it ends, so that a killed run can be
started again at once. Snakemake's own lock files outlive a kill and need ``--unlock``.
"""

from __future__ import annotations

import fcntl
import getpass
import json
import os
import socket
import sys
from pathlib import Path
from typing import IO

_held: list[IO[str]] = []


def hold(folder: Path = Path(".snakemake")) -> None:
    """Take the folder's lock for the rest of this process, or say who has it and exit with 2."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "exparity.lock"
    file = path.open("a+", encoding="utf-8")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        print(f"exparity: {_who(file.read())}; wait for it or stop it", file=sys.stderr)
        file.close()
        raise SystemExit(2) from None
    file.seek(0)
    file.truncate()
    owner = {"pid": os.getpid(), "host": socket.gethostname(), "user": _user()}
    file.write(json.dumps(owner))
    file.flush()
    _held.append(file)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container's user may have no name
        return str(os.getuid())


def _who(text: str) -> str:
    try:
        owner = json.loads(text)
    except json.JSONDecodeError:
        return "another run is using this folder"
    return (
        f"another run is using this folder (process {owner['pid']} of {owner['user']} on "
        f"{owner['host']})"
    )
