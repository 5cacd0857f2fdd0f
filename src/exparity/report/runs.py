"""Two runs side by side: what was asked, what it was made with, and what came out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exparity.artefacts.grid import read_grid
from exparity.core.errors import InputError
from exparity.core.formats import dotted
from exparity.core.settings import Statistics
from exparity.report.gather import Verdicts, by_cell_and_quantity
from exparity.report.provenance import SETTLED, read_origins, settings_of, versions
from exparity.report.reading import read_analysis
from exparity.report.verdicts import is_random
from exparity.stats.two_runs import GapDifference, gap_difference
from exparity.stats.verdicts import STANDING

Cell = tuple[str, ...]
"""Dataset, model, method, metric and the two groups."""
_NOT_COMPARED = ("analyses", "digest", "pairs", "report", *(f"{kind}s" for kind in SETTLED))


@dataclass(frozen=True)
class Run:
    """One run."""

    name: str  # its folder, and its title
    settings: Mapping[str, str]  # what was asked for, by key, such as models.bert.epochs
    versions: Mapping[str, str]
    verdicts: Verdicts


@dataclass(frozen=True)
class ComparedCell:
    """One cell of both runs."""

    ids: Cell
    quantity: str
    first: Mapping[str, Any]
    second: Mapping[str, Any]
    difference: GapDifference  # second run minus first

    @property
    def verdicts(self) -> tuple[str | None, str | None]:
        """Verdict of the first run and of the second."""
        return self.first["verdict"], self.second["verdict"]

    @property
    def differs(self) -> bool:
        """Whether the verdicts are not the same, or the gaps are further apart than by chance."""
        first, second = self.verdicts
        return first != second or self.difference.apart


@dataclass(frozen=True)
class RunComparison:
    """Two runs side by side."""

    first: Run
    second: Run
    # Those that differ; None where a run has none.
    settings: Mapping[str, tuple[str | None, str | None]]
    versions: Mapping[str, tuple[str | None, str | None]]
    cells: Sequence[ComparedCell]  # those that differ most first
    alone: tuple[Sequence[Cell], Sequence[Cell]]  # cells of the first run only, and of the second

    @property
    def differing(self) -> list[ComparedCell]:
        """Cells whose verdicts or gaps differ."""
        return [cell for cell in self.cells if cell.differs]


def read_run(results: Path) -> Run:
    """Read what was asked of a finished run, what it was made with, and its verdicts."""
    grid = read_grid(results)
    if grid is None:
        raise InputError(f"{results}: no results; name the results folder of a run")
    judged = read_analysis(results, grid, "judge")
    origins = read_origins(results, grid)
    options = {key: value for key, value in grid.items() if key not in _NOT_COMPARED}
    settings = {
        key: json.dumps(value, ensure_ascii=False).strip('"') for key, value in dotted(options)
    }
    settings["datasets"] = ", ".join(id for id, _ in grid["datasets"])
    settings["analyses"] = ", ".join(grid.get("analyses", {}))
    for kind in SETTLED:
        settings[f"{kind}s"] = ", ".join(id for id, _ in grid[f"{kind}s"])
        for id, options in settings_of(origins, kind).items():
            settings |= {f"{kind}s.{id}.{key}": value for key, value in options.items()}
    title = grid["title"]
    return Run(
        f"{results}{f': {title}' if title else ''}",
        settings,
        {name: ", ".join(one for one, _ in of) for name, of in versions(origins).items()},
        by_cell_and_quantity(row for row in judged if not is_random(row)),
    )


def compare_runs(
    first: Run, second: Run, *, confidence: float = Statistics.confidence
) -> RunComparison:
    """Set two runs side by side.

    Gaps are those of the first quantity that both runs have of skill, excess and score.
    """
    cells = []
    ours, theirs = second.verdicts, first.verdicts
    for ids in (ids for ids in theirs if ids in ours):
        both = theirs[ids], ours[ids]
        quantity = next(name for name in STANDING if all(name in cell for cell in both))
        rows = both[0][quantity], both[1][quantity]
        difference = gap_difference(rows[1], rows[0], confidence=confidence)
        cells.append(ComparedCell(ids, quantity, *rows, difference))
    cells.sort(key=lambda cell: (not cell.differs, -_size(cell.difference)))
    alone = [ids for ids in theirs if ids not in ours], [ids for ids in ours if ids not in theirs]
    return RunComparison(
        first,
        second,
        _differing(first.settings, second.settings),
        _differing(first.versions, second.versions),
        cells,
        alone,
    )


def _size(difference: GapDifference) -> float:
    """Return how far gaps are apart; NaN would leave the order to chance."""
    return abs(difference.estimate) if difference.estimate == difference.estimate else -1.0


def _differing(
    first: Mapping[str, str], second: Mapping[str, str]
) -> dict[str, tuple[str | None, str | None]]:
    """Return what is not the same in both."""
    both = {key: (first.get(key), second.get(key)) for key in (*first, *second)}
    return {key: values for key, values in both.items() if values[0] != values[1]}
