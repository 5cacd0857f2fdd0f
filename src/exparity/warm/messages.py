"""Messages between client, server and worker: JSON behind its length, and open files."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Sequence
from typing import Any

_LENGTH = struct.Struct("!I")


def send(connection: socket.socket, message: dict[str, Any], files: Sequence[int] = ()) -> None:
    """Send a message, with open files.

    Raises:
        OSError: the other side is gone.
    """
    content = json.dumps(message).encode()
    length = _LENGTH.pack(len(content))
    if files:
        socket.send_fds(connection, [length], list(files))
    else:
        connection.sendall(length)
    connection.sendall(content)


def receive(connection: socket.socket, files: int = 0) -> tuple[dict[str, Any], list[int]]:
    """Return the next message and the files that came with it.

    Args:
        connection: from the other side.
        files: how many there may be.

    Raises:
        EOFError: the other side is gone.
    """
    received: list[int] = []
    length = b""
    while len(length) < _LENGTH.size:
        part, files_of_part, _, _ = socket.recv_fds(connection, _LENGTH.size - len(length), files)
        received += files_of_part
        if not part:
            raise EOFError
        length += part
    content = bytearray()
    while len(content) < _LENGTH.unpack(length)[0]:
        part = connection.recv(_LENGTH.unpack(length)[0] - len(content))
        if not part:
            raise EOFError
        content += part
    message: dict[str, Any] = json.loads(content)
    return message, received
