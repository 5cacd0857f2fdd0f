"""Progress on standard error: a bar on a terminal or in a notebook, else a line every 30 s."""

from __future__ import annotations

import logging
import sys
import time

from exparity.core.escaping import visible
from exparity.core.formats import duration

log = logging.getLogger(__name__)
_INTERVAL = 30.0
_QUIET = 2.0
"""Seconds before a notebook shows a bar, which its output keeps."""


class Progress:
    """Counts finished units of one job, whose ``total`` may be unknown, and tells the user."""

    def __init__(self, total: int | None, label: str, unit: str = "examples") -> None:
        self.total = total
        self.label = visible(label)
        self.unit = unit
        self.done = 0
        self._start = self._last = time.monotonic()
        from tqdm import tqdm

        is_notebook = type(sys.stderr).__module__ == "ipykernel.iostream"  # which is no terminal
        self._bar = tqdm(
            total=total,
            desc=self.label,
            unit=f" {unit}",
            leave=False,
            disable=False if is_notebook else None,  # None: only a terminal has one
            delay=_QUIET if is_notebook else 0,
        )

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()

    def name(self, label: str) -> None:
        """Say what is being done now."""
        self.label = visible(label)
        self._bar.set_description(self.label)

    def expect(self, total: int) -> None:
        """Set how many units there are, once that is known."""
        self.total = total
        self._bar.total = total

    def advance(self, count: int = 1) -> None:
        """Count ``count`` more units as done."""
        self.done += count
        self._bar.update(count)
        now = time.monotonic()
        if self._bar.disable and now - self._last >= _INTERVAL:
            self._last = now
            rate = self.done / (now - self._start)
            if self.total is None:
                log.info("%s: %d %s, %.1f a second", self.label, self.done, self.unit, rate)
                return
            left = (self.total - self.done) / rate if rate else float("inf")
            state = f"{self.label}: {self.done} of {self.total} {self.unit}"
            log.info("%s, about %s left", state, duration(left))
