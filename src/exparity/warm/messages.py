"""Messages between client, server and worker: JSON behind its length, and open files."""

from __future__ import annotations

import json
import os
import socket
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_LENGTH = struct.Struct("!I")
_LONGEST = 2**26  # bytes; an environment is written twice, and has 6 MB at most
_PART = 2**16
SERVER = "exparity server"
"""What the system calls the process of a server."""
_CREDENTIALS = struct.Struct("iII")  # process, user and group


def process_of_this_user(connection: socket.socket) -> int | None:
    """Return the process on the other side of a connection; None if it is another user's."""
    facts = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    process, user, _ = _CREDENTIALS.unpack(facts)
    return int(process) if user == os.geteuid() else None


def send(connection: socket.socket, message: dict[str, Any], files: Sequence[int] = ()) -> None:
    """Send a message, with open files."""
    content = json.dumps(message).encode()
    length = _LENGTH.pack(len(content))
    if files:
        socket.send_fds(connection, [length], list(files))
    else:
        connection.sendall(length)
    connection.sendall(content)


def receive(connection: socket.socket, files: int = 0) -> tuple[dict[str, Any], list[int]]:
    """Return the next message and the files that came with it."""
    received: list[int] = []
    length = b""
    while len(length) < _LENGTH.size:
        part, files_of_part, _, _ = socket.recv_fds(connection, _LENGTH.size - len(length), files)
        received += files_of_part
        if not part:
            raise EOFError
        length += part
    content, size = bytearray(), _LENGTH.unpack(length)[0]
    if size > _LONGEST:
        raise ValueError(f"a message of {size} bytes")
    while len(content) < size:
        part = connection.recv(min(size - len(content), _PART))
        if not part:
            raise EOFError
        content += part
    message: dict[str, Any] = json.loads(content)
    return message, received
