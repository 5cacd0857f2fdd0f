"""Reading the artefacts of an analysis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from exparity.artefacts import layout
from exparity.artefacts.analyses import ANALYSES
from exparity.artefacts.files import read_artefact


def read_analysis(results: Path, options: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """Read all rows of an analysis; none if the config does not ask for it."""
    rows: list[dict[str, Any]] = []
    artefact = ANALYSES.get(name).facts.artefact
    for ids in layout.cells(options, artefact):
        table, metadata = read_artefact(results / layout.path_of(artefact, ids), artefact)
        declared = {
            "attribute": metadata.get("attribute", ""),
            "groups": tuple(metadata.get("groups", ())),
            "labels": tuple(metadata.get("labels", ())),
        }
        rows += [{**row, **declared} for row in table.to_pylist()]
    return rows


def mean_and_sd(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Return mean and standard deviation (n − 1) of the defined values; None if undefined."""
    defined = np.array([value for value in values if value == value], dtype=np.float64)
    if not len(defined):
        return None, None
    return float(defined.mean()), float(defined.std(ddof=1)) if len(defined) > 1 else None
