"""Why cells are not tested, and what to change, by the flags of their tests."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import NamedTuple

import yaml

from exparity.resources import shipped


class Untested(NamedTuple):
    """Why cells were not tested, and what to change, in words without a full stop."""

    why: str
    change: str


@cache
def _reasons() -> dict[str, Untested]:
    written = yaml.safe_load(shipped("untested.yaml").read_text(encoding="utf-8"))
    return {flag: Untested(**words) for flag, words in written.items()}


def main_reason(flags: Collection[str]) -> Untested | None:
    """Return the main reason that flags give; None if they give none."""
    reasons = (reason for flag, reason in _reasons().items() if flag in flags)
    return next(reasons, None)
