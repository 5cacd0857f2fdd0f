"""What a command was given: flags for people, one JSON object from the workflow."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from exparity.errors import InputError, did_you_mean


def set_threads(arguments: argparse.Namespace) -> None:
    """Set up torch for a model job."""
    from exparity.engine.device import make_repeatable

    make_repeatable(arguments.threads)


def merged(arguments: argparse.Namespace, flags: Sequence[str]) -> dict[str, Any]:
    """Merge ``--options`` with the flags that were given; flags win."""
    merged = dict(arguments.options or {})
    merged.pop("digest", None)  # tells Snakemake when to rerun; the job has no use for it
    for flag in flags:
        value = getattr(arguments, flag)
        if value is not None:
            merged[flag] = value
    if arguments.param:
        merged["params"] = {**merged.get("params", {}), **dict(arguments.param)}
    return merged


def with_use(options: dict[str, Any], kind: str, known: Sequence[str]) -> dict[str, Any]:
    """Check the keys of merged options and that an addition is named."""
    if "use" not in options:
        raise InputError(f"name the {kind}: `--use ID` (`exparity list` shows them)")
    for key in options:
        if key not in (*known, "params"):
            raise InputError(f"--options: unknown key '{key}'; {did_you_mean(key, known)}")
    return {"params": {}, **options}


def settings_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of an analysis from ``--options``."""
    return dict((arguments.options or {}).get("settings", {}))
