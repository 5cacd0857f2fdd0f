"""Selection of the tests that are informative about explanations; only these are counted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from exparity.stats.flags import FLAGS
from exparity.types import Row

Test = TypeVar("Test", bound=Row)

UNINFORMATIVE = tuple(name for name, flag in FLAGS.items() if not flag.counts)
"""Flags of tests that tell nothing about the explanations of a working classifier: it predicts one
class, all scores are equal, it hardly answers with a class, or the attributions are rounding
errors."""


def is_informative(row: Row) -> bool:
    """Return whether a test has none of the flags :data:`UNINFORMATIVE`."""
    return not any(flag in UNINFORMATIVE for flag in row.get("flags", ()))


def informative(rows: Iterable[Test]) -> list[Test]:
    """Return the tests that count: in headlines, families and over seeds."""
    return [row for row in rows if is_informative(row)]


def of_quantity(rows: Iterable[Test], quantity: str) -> list[Test]:
    """Return the tests of scores, or those of their excess; tests by hand are of scores."""
    return [row for row in rows if row.get("quantity", "score") == quantity]
