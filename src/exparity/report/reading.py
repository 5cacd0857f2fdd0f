"""Reading artefacts for the page: rows of an analysis, columns of a file, and costs of jobs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from exparity.artefacts import layout
from exparity.artefacts.analyses import ANALYSES
from exparity.artefacts.files import read_artefact
from exparity.artefacts.grid import Grid
from exparity.artefacts.ids import Ids
from exparity.artefacts.schemas import IDS, check_schema
from exparity.artefacts.seal import open_sealed
from exparity.core.grouping import grouped
from exparity.core.plain import as_texts
from exparity.costs.finished import JobCost, artefact_of_stage
from exparity.costs.forecast import Total, total

_PARTS = {"explain": "method", "evaluate": "metric"}


def read_analysis(results: Path, grid: Grid, name: str) -> list[dict[str, Any]]:
    """Read all rows of an analysis; none if the config does not ask for it."""
    rows: list[dict[str, Any]] = []
    artefact = ANALYSES.get(name).facts.artefact
    for ids in layout.cells(grid, artefact):
        table, metadata = read_artefact(results / layout.path_of(artefact, ids), artefact)
        declared = {
            "attribute": metadata.get("attribute", ""),
            "groups": tuple(as_texts(metadata.get("groups", ()))),
            "labels": tuple(as_texts(metadata.get("labels", ()))),
        }
        rows += [{**row, **declared} for row in table.to_pylist()]
    return rows


def read_columns(path: Path, artefact: str, columns: Sequence[str]) -> pa.Table:
    """Return columns of a file of an artefact."""
    with open_sealed(path) as file:
        check_schema(path, artefact, file.schema_arrow)
        # These files are small: threads would cost more than they save.
        return file.read(columns=list(columns), use_threads=False)


def mean_and_sd(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Return mean and standard deviation (n − 1) of the defined values; None if undefined."""
    defined = np.array([value for value in values if value == value], dtype=np.float64)
    if not len(defined):
        return None, None
    return float(defined.mean()), float(defined.std(ddof=1)) if len(defined) > 1 else None


def read_costs(results: Path) -> list[JobCost]:
    """Return the jobs of the cost table in the order of a run; none if there is no table."""
    path = results / layout.path_of("cost", {})
    rows = read_artefact(path, "cost")[0].to_pylist() if path.is_file() else []
    places = {stage: place for place, stage in enumerate(artefact_of_stage())}
    jobs = [JobCost(ids=Ids((name, row.pop(name)) for name in IDS), **row) for row in rows]
    return sorted(jobs, key=lambda job: places.get(job.stage, len(places)))


def totals_by_part(jobs: list[JobCost]) -> dict[tuple[str, str], Total]:
    """Return totals of explanations and scores, by stage and method or metric."""
    parts = grouped(
        (job for job in jobs if job.stage in _PARTS),
        lambda job: (job.stage, str(job.ids[_PARTS[job.stage]])),
    )
    return {part: total(part[1], members) for part, members in parts.items()}
