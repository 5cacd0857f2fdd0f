"""The folder of a server's socket: only the user who owns it gets to what lies there."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SOCKET = "warm"
"""Name of the socket in its folder."""


@contextmanager
def opened(folder: str | os.PathLike[str]) -> Iterator[int]:
    """Open a folder that this user owns and nobody else may enter; return its descriptor.

    What lies in it is reached by this one alone: another user may put another folder at the path.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        facts = os.fstat(descriptor)
        if facts.st_uid != os.geteuid() or facts.st_mode & 0o777 != 0o700:
            raise PermissionError(errno.EACCES, "not this user's alone", str(folder))
        yield descriptor
    finally:
        os.close(descriptor)


def address_in(descriptor: int, name: str = SOCKET) -> str:
    """Return the address of a socket in an open folder."""
    return f"/proc/self/fd/{descriptor}/{name}"


def holds_a_socket_alone(descriptor: int) -> bool:
    """Whether an open folder holds what a server leaves behind, and nothing else."""
    if os.listdir(descriptor) != [SOCKET]:
        return False
    return stat.S_ISSOCK(os.stat(SOCKET, dir_fd=descriptor, follow_symlinks=False).st_mode)


def remove(folder: str | os.PathLike[str]) -> None:
    """Remove the folder of a socket, unless it holds anything else or is another user's."""
    with suppress(OSError), opened(folder) as descriptor:
        if holds_a_socket_alone(descriptor):
            os.unlink(SOCKET, dir_fd=descriptor)
        os.rmdir(folder)  # an empty one
