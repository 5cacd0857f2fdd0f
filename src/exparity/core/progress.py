"""Progress on standard error: a bar on a terminal, otherwise a line every 30 seconds."""

from __future__ import annotations

import logging
import time

from exparity.core.escaping import visible
from exparity.core.formats import duration

log = logging.getLogger(__name__)
_INTERVAL = 30.0


class Progress:
    """Counts finished units of one job, whose ``total`` may be unknown, and tells the user."""

    def __init__(self, total: int | None, label: str, unit: str = "examples") -> None:
        self.total = total
        self.label = visible(label)
        self.unit = unit
        self.done = 0
        self._start = self._last = time.monotonic()
        from tqdm import tqdm

        # Only a terminal has one.
        self._bar = tqdm(total=total, desc=self.label, unit=f" {unit}", leave=False, disable=None)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()

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
