"""Config values from the command line, with the types that a file would give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exparity.core.errors import InputError
from exparity.core.strict import parse_yaml


def as_in_a_file(value: Any) -> Any:
    """Return a value of Snakemake's ``--config`` as a config file would have it.

    Snakemake reads numbers and words from the command line, and leaves what is within lists and
    mappings as text: ``seeds=[0, 1]`` arrives as ``["0", "1"]``.

    Args:
        value: what Snakemake has made of it.
    """
    if isinstance(value, Mapping):
        return {key: as_in_a_file(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [as_in_a_file(inner) for inner in value]
    if not isinstance(value, str) or not value:
        return value
    try:
        read = parse_yaml(value, "--config")
    except InputError:  # or a kind that no config has, such as a date
        return value
    return read if read is None or isinstance(read, bool | int | float) else value
