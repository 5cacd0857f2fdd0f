"""A poll that begins just after a signal has arrived, for which no handler in Python has run."""

import operator
import os
import select
import signal
from functools import partial

_real_poll = select.poll


class PollAfterSignal:
    """Stands in for the object that ``select.poll`` makes."""

    def __init__(self):
        poll = _real_poll()
        self.register = poll.register
        send = partial(signal.pidfd_send_signal, os.pidfd_open(os.getpid()), signal.SIGTERM)
        self.calls = (send, poll.poll)

    def poll(self):
        # Functions in C that call each other leave Python no moment to run a handler.
        return list(map(operator.call, self.calls))[-1]
