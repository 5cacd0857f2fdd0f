"""The grid of the last run, in the results folder, with a digest so that a flipped bit is found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from exparity.artefacts import layout
from exparity.core.errors import InputError
from exparity.core.strict import canonical

_DIGEST = "sha256"


def grid_text(grid: Mapping[str, Any]) -> str:
    """Return a grid as the file holds it: JSON with one more key, the digest of all others."""
    return canonical({**grid, _DIGEST: _digest(grid)})


def read_grid(results: Path) -> dict[str, Any] | None:
    """Read the grid of the last run; None where there was none."""
    path = results / layout.GRID
    try:
        grid = json.loads(path.read_bytes())
        digest = grid.pop(_DIGEST)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError, AttributeError, LookupError, TypeError):
        digest = None
    if digest is None or digest != _digest(grid):
        raise InputError(
            f"{path}: is damaged, or of an earlier version; run `snakemake`, which writes it again"
        )
    return dict(grid)


def _digest(grid: Mapping[str, Any]) -> str:
    return sha256(canonical(grid).encode("utf-8", "surrogatepass")).hexdigest()
