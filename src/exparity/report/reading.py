"""Reading the artefacts of an analysis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from exparity.artefacts import layout
from exparity.artefacts.files import read_artefact
from exparity.core.errors import InputError


def read_analysis(results: Path, options: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """Read all rows of an analysis; none if the config does not ask for it."""
    rows: list[dict[str, Any]] = []
    datasets: dict[str, dict[str, Any]] = {}
    artefact = layout.made_by_analyses()[name]
    for ids in layout.cells(options, artefact):
        path = results / layout.path_of(artefact, ids)
        table, metadata = read_artefact(path, artefact)
        if {id: metadata["wildcards"].get(id) for id in ids} != ids:
            raise InputError(
                f"{path}: is not of the cell that its path names; delete it and run again"
            )
        declared = {
            "attribute": metadata.get("attribute", ""),
            "groups": tuple(metadata.get("groups", ())),
            "labels": tuple(metadata.get("labels", ())),
        }
        if datasets.setdefault(ids.get("dataset", ""), declared) != declared:
            raise InputError(
                f"{path}: declares other groups or classes than the dataset's other files; "
                "delete it and run again"
            )
        rows += [{**row, **declared} for row in table.to_pylist()]
    return rows


def mean_and_sd(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Return mean and standard deviation (n − 1) of what is defined, None where they are not."""
    defined = np.array([value for value in values if value == value], dtype=np.float64)
    if not len(defined):
        return None, None
    return float(defined.mean()), float(defined.std(ddof=1)) if len(defined) > 1 else None
