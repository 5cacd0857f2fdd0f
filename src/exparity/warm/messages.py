"""Messages between client, server and worker: each a packet of JSON, with open files."""

from __future__ import annotations

import json
import os
import socket
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    Message = dict[str, Any]  # what JSON can hold

KIND = socket.SOCK_SEQPACKET
"""A message is whole or not there, so that nobody waits for the rest of one."""
SERVER = "exparity server"  # what the system calls its process
_LONGEST = 2**20  # bytes; the system takes fewer, 200 kB where nobody has set more


def process_of_this_user(connection: socket.socket) -> int | None:
    """Return the process on the other side of a connection; None if it is another user's."""
    facts = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    process, user, _ = struct.unpack("iII", facts)
    return int(process) if user == os.geteuid() else None


def send(
    connection: socket.socket, message: Mapping[str, object], files: Sequence[int] = ()
) -> None:
    """Send a message, with open files; one that is too long is an ``OSError``."""
    socket.send_fds(connection, [json.dumps(message).encode()], list(files))


def receive(connection: socket.socket, files: int = 0) -> tuple[Message, list[int]]:
    """Return the next message and the files that came with it."""
    content, received, *_ = socket.recv_fds(connection, _LONGEST, files)
    if not content:
        raise EOFError
    message: Message = json.loads(content)
    return message, received
