"""Cells that an override of a config concerns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def matches(match: Mapping[str, Any], cell: Mapping[str, Any]) -> bool:
    """Return whether a cell has the ids that an override names; a list names several."""
    return all(
        key in cell and cell[key] in (wanted if isinstance(wanted, list) else [wanted])
        for key, wanted in match.items()
    )
