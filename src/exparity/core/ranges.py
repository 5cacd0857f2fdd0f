"""Ranges of options; authors of plug-ins import them from :mod:`exparity.interface`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True)
class Range:
    """What a number may be: ``Annotated[int, Range(at_least=1)]`` in the signature of an option."""

    at_least: float | None = None
    at_most: float | None = None
    above: float | None = None
    below: float | None = None


Count = Annotated[int, Range(at_least=1, at_most=1_000_000)]
Positive = Annotated[float, Range(above=0, at_most=1_000_000)]
NotNegative = Annotated[float, Range(at_least=0, at_most=1_000_000)]
Share = Annotated[float, Range(above=0, below=1)]
