"""An answer: what is said first, and what is one click away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MOST = 2
"""Parts of an answer that are said first, those of other datasets and models following."""


@dataclass(frozen=True)
class Answer:
    """The answer to one question.

    Attributes:
        text: sentences that are said first.
        more: sentences on the rest.
        evidence: anchor of the page's section that it rests on; empty where nothing was measured.
    """

    text: str
    more: Sequence[str] = ()
    evidence: str = ""

    @classmethod
    def of(cls, parts: Sequence[str], *more: str, before: str = "", evidence: str) -> Answer:
        """Return an answer whose first parts are said first, after another text."""
        first = " ".join(filter(None, (before, *parts[:MOST])))
        return cls(first, [*parts[MOST:], *more], evidence)
