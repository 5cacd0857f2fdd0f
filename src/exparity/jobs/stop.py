"""An orderly end when the machine is taken away: a TERM signal becomes an exception."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Stopped(BaseException):
    """The job has to end; no ``Exception``, so that nothing on the way holds it up."""

    exit_code = 128 + signal.SIGTERM

    def __init__(self) -> None:
        super().__init__()
        self.kept: int | None = None  # examples whose results are saved, once that is known
        self.total = 0

    def __str__(self) -> str:
        kept = "" if self.kept is None else f"{self.kept} of {self.total} examples are kept, "
        return f"stopped by SIGTERM; {kept}the same command continues"


@contextmanager
def stoppable() -> Iterator[None]:
    """Raise :class:`Stopped` in the block on the first TERM, and ignore those that follow.

    They stay ignored after the block: the process is about to say why it ends, and to end.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise Stopped

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGTERM) is stop:
            signal.signal(signal.SIGTERM, before)
