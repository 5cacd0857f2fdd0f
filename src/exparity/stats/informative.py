"""Selection of the tests that are informative about explanations; only these are counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from exparity.stats.flags import FLAGS


class Flagged(Protocol):
    """An object with flags, such as a test."""

    @property
    def flags(self) -> Sequence[str]:
        """Its flags, of :data:`~exparity.stats.flags.FLAGS`."""


Test = TypeVar("Test", bound=Flagged)

UNINFORMATIVE = tuple(name for name, flag in FLAGS.items() if not flag.counts)
"""Flags of tests that tell nothing about the explanations of a working classifier: it predicts one
class, all scores are equal, it hardly answers with a class, or the attributions are rounding
errors."""


def is_informative(flags: Iterable[str]) -> bool:
    """Return whether a test with these flags has none of :data:`UNINFORMATIVE`."""
    return not any(flag in UNINFORMATIVE for flag in flags)


def informative(tests: Iterable[Test]) -> list[Test]:
    """Return the tests that count: in headlines, families and over seeds."""
    return [test for test in tests if is_informative(test.flags)]
