"""Parts of a report that could not be made, so that they leave the others as they are."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from exparity.core.errors import ExparityError, IncompleteReport, reason_of
from exparity.core.escaping import visible

log = logging.getLogger(__name__)

FILES = ("Table", "Figure")
"""Beginnings of the names of parts that are files to download."""


@dataclass
class Failures:
    """The failed parts of one report.

    Attributes:
        reasons: what went wrong, in a line, by the name of the part.
    """

    reasons: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def caught(self, part: str) -> Iterator[None]:
        """Note an error inside this block as the failure of a part, and go on behind it."""
        try:
            yield
        except Exception as error:
            self.reasons[part] = _in_a_line(error)
            log.error("%s failed: %s", part, self.reasons[part])

    def require_none(self, page: Path) -> None:
        """Raise :class:`IncompleteReport` if a part failed."""
        if self.reasons:
            raise IncompleteReport(f"{page} lacks parts that failed: {listed(self.reasons)}")


def listed(parts: Iterable[str]) -> str:
    """Return the names of parts in one text."""
    return "; ".join(parts)


def _in_a_line(error: Exception) -> str:
    """Return what an error says, and, if it was not foreseen, where it was raised."""
    if isinstance(error, ExparityError):
        return " ".join(str(error).split())
    where = traceback.extract_tb(error.__traceback__)[-1]
    reason = f"{type(error).__name__}: {reason_of(error)}"
    return visible(f"{reason} ({Path(where.filename).name}, line {where.lineno})")
