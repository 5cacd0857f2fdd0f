"""Gaps at equal class and length, as columns of the tests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from exparity.artefacts.files import read_artefact
from exparity.stages.cell import Lookup, require_same_cell
from exparity.stages.compare._scores import Cell, ModelScores
from exparity.stats.adjusted import ADJUSTMENTS, adjusted_gaps
from exparity.types import FloatArray

_COLUMNS = {
    "difference": ("estimate", "float64"),
    "p": ("p", "float64"),
    "ci_low": ("low", "float64"),
    "ci_high": ("high", "float64"),
    "flags": ("flags", "list<string>"),
}
ADJUSTED_COLUMNS = {
    f"{adjustment}_adjusted_{name}": kind
    for adjustment in ADJUSTMENTS
    for name, (_, kind) in _COLUMNS.items()
}
"""Columns that the tests artefact has of each adjustment."""
NOT_ADJUSTED: Mapping[str, Any] = {
    name: float("nan") if kind == "float64" else [] for name, kind in ADJUSTED_COLUMNS.items()
}


def read_covariates(data: Path, model: ModelScores) -> dict[str, FloatArray]:
    """Return (n,) class and number of words of every scored example, from the data."""
    texts, declared = read_artefact(data, "data")
    require_same_cell(("the scores", model.ids), (data, declared["wildcards"]))
    ids = texts.column("example_id").to_pylist()
    place = Lookup(data, "example", zip(ids, range(len(ids)), strict=True))
    words = [name for name in ("words", "words_b") if name in texts.column_names]
    texts_of = zip(*(texts.column(name).to_pylist() for name in words), strict=True)
    lengths = [sum(len(words or ()) for words in row) for row in texts_of]
    rows = [place[id] for id in model.examples.ids]
    columns = {"class": texts.column("label").to_numpy(), "length": np.array(lengths)}
    return {name: column[rows].astype(np.float64) for name, column in columns.items()}


def adjusted_columns(
    cell: Cell, model: ModelScores, covariates: Mapping[str, FloatArray], confidence: float
) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the columns of a cell, by pair of groups."""
    gaps = adjusted_gaps(
        cell.scores,
        model.groups[cell.places].tolist(),
        model.order,
        model.sets[cell.places].tolist(),
        covariates={name: column[cell.places] for name, column in covariates.items()},
        confidence=confidence,
        bounds=cell.bounds,
    )
    columns: dict[tuple[str, str], dict[str, Any]] = defaultdict(dict)
    for gap in gaps:
        for name, (attribute, _) in _COLUMNS.items():
            key = f"{gap.adjustment}_adjusted_{name}"
            columns[gap.group_a, gap.group_b][key] = getattr(gap, attribute)
    return dict(columns)
