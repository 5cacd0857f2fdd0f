"""Helpers that tests import."""

from __future__ import annotations

import os

import pytest


def need(present: bool, what: str) -> None:
    """Skip where a component is missing; fail where EXPARITY_REQUIRE_ALL says it must be there."""
    if present:
        return
    if os.environ.get("EXPARITY_REQUIRE_ALL") == "1":
        pytest.fail(f"{what} is missing, and EXPARITY_REQUIRE_ALL is set")
    pytest.skip(f"{what} is missing")
