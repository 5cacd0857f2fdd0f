"""Meanings of the flags of tests, in words for readers of the report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import yaml

from exparity.report.templating import asset

ROUNDING_NOISE = "rounding_noise"


@cache
def meanings() -> dict[str, str]:
    """Return the meaning of every flag of exparity."""
    return dict(yaml.safe_load(asset("flags.yaml")))


def meaning_of(flag: str) -> str:
    """Return the meaning of a flag; a plug-in's flag is its own meaning."""
    return meanings().get(flag, flag.replace("_", " "))


def noise_of(rows: Iterable[Mapping[str, Any]]) -> set[tuple[str, str, str]]:
    """Return (dataset, model, method) of the tests whose attributions are rounding errors."""
    return {
        (row["dataset"], row["model"], row["method"])
        for row in rows
        if ROUNDING_NOISE in row["flags"]
    }
