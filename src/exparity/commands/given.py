"""What a command was given: flags for people, one JSON object from the workflow."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from exparity.core.calls import shown
from exparity.core.errors import InputError, did_you_mean


def set_threads(arguments: argparse.Namespace) -> None:
    """Set up torch for a model job."""
    from exparity.core.device import make_repeatable

    make_repeatable(arguments.threads)


def merged(arguments: argparse.Namespace, flags: Sequence[str]) -> dict[str, Any]:
    """Merge ``--options`` with the flags that were given; flags win."""
    merged = dict(arguments.options or {})
    merged.pop("digest", None)  # tells Snakemake when to rerun; the job has no use for it
    for flag in flags:
        value = getattr(arguments, flag)
        if value is not None:
            merged[flag] = value
    if "params" in merged or arguments.param:
        merged["params"] = block_of(arguments, "params", arguments.param)
    return merged


def with_use(options: dict[str, Any], kind: str, known: Sequence[str]) -> dict[str, Any]:
    """Check the keys of merged options and that an addition is named."""
    if "use" not in options:
        raise InputError(f"name the {kind}: `--use ID` (`exparity list` shows them)")
    for key in options:
        if key not in (*known, "params"):
            raise InputError(f"--options: unknown key '{key}'; {did_you_mean(key, known)}")
    return {"params": {}, **options}


def block_of(
    arguments: argparse.Namespace, name: str, flags: Iterable[tuple[str, Any]] | None = None
) -> dict[str, Any]:
    """Return a block of ``--options``, with the ``KEY=VALUE`` flags that were given on top."""
    block = (arguments.options or {}).get(name, {})
    if not isinstance(block, dict):
        raise InputError(f"--options: '{name}' must be an object, not {shown(block)}")
    return {**block, **dict(flags or [])}


def completed(function: Callable[..., Any], given: dict[str, Any], where: str) -> dict[str, Any]:
    """Check what was given of a function's options and fill in its defaults, all but the seed.

    Args:
        function: whose options they are. A seed follows from the cell.
        given: what the user set.
        where: how an error names the place.
    """
    from exparity.core.options import complete, options_of

    known = options_of(function)
    known.pop("seed", None)
    return complete(known, given, where)
