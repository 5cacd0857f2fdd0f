"""Tool compare: two runs side by side, on the terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

from rich.console import RenderableType
from rich.table import Table

from exparity.artefacts.columns import records
from exparity.artefacts.grid import read_grid
from exparity.core.errors import InputError
from exparity.core.escaping import visible
from exparity.core.flags import Flag, Folder
from exparity.core.formats import dotted, signed
from exparity.report.provenance import SETTLED, read_origins, settings_of, versions
from exparity.report.reading import read_analysis
from exparity.report.rows import VerdictRow, Verdicts, cells_of
from exparity.report.terminal import table_of, terminal_here, write
from exparity.stats.two_runs import GapDifference, gap_difference
from exparity.stats.verdicts import STANDING

_NOT_COMPARED = ("analyses", "digest", "pairs", "report", *(f"{kind}s" for kind in SETTLED))


class Run(NamedTuple):
    """One run: its settings by key, such as models.bert.epochs, and its verdicts."""

    name: str  # its folder, and its title
    settings: Mapping[str, str]
    versions: Mapping[str, str]
    verdicts: Verdicts


class ComparedCell(NamedTuple):
    """One cell of both runs."""

    ids: tuple[str, ...]  # dataset, model, method, metric and the two groups
    quantity: str
    first: VerdictRow
    second: VerdictRow
    is_alike: bool  # the verdicts are the same
    difference: GapDifference  # second run minus first

    @property
    def differs(self) -> bool:
        """Whether the verdicts are not the same, or the gaps are further apart than by chance."""
        return not self.is_alike or self.difference.apart


def compare(
    first: Folder, second: Folder, /, *, all_cells: Annotated[bool, Flag(name="all")] = False
) -> None:
    """Compare two runs: configuration, versions, verdicts and gaps.

    A cell is shown where its verdicts differ, or where the interval of the difference of its gaps
    excludes zero. Gaps are those of skill where both runs have it, else of the excess over random
    explanations, else of scores. The runs are assumed to be independent, each with several seeds.

    Args:
        first: results folder of run A.
        second: results folder of run B; differences are B − A.
        all_cells: show the cells without a difference, too.
    """
    write(terminal_here(), _parts(read_run(first), read_run(second), all_cells=all_cells))


def read_run(results: Path) -> Run:
    """Read the settings, versions and verdicts of a finished run."""
    grid = read_grid(results)
    if grid is None:
        raise InputError(f"{results}: no results; name the results folder of a run")
    judged = records(VerdictRow, read_analysis(results, grid, "judge"))
    origins = read_origins(results, grid)
    compared = {key: value for key, value in grid.as_json().items() if key not in _NOT_COMPARED}
    settings = {
        key: json.dumps(value, ensure_ascii=False).strip('"') for key, value in dotted(compared)
    }
    settings["datasets"] = ", ".join(grid.datasets)
    settings["analyses"] = ", ".join(grid.analyses)
    ids = {"model": grid.models, "method": grid.methods, "metric": grid.metrics}
    for kind in SETTLED:
        settings[f"{kind}s"] = ", ".join(ids[kind])
        for name, options in settings_of(origins, kind).items():
            settings |= {f"{kind}s.{name}.{key}": value for key, value in options.items()}
    return Run(
        f"{results}{f': {grid.title}' if grid.title else ''}",
        settings,
        {
            package: ", ".join(version for version, _ in counts)
            for package, counts in versions(origins).items()
        },
        cells_of(judged),
    )


def cells_of_both(first: Run, second: Run) -> list[ComparedCell]:
    """Return the cells that both runs have, those that differ most first.

    Gaps are those of the first quantity that both runs have of skill, excess and score.
    """
    cells = []
    for ids in (ids for ids in first.verdicts if ids in second.verdicts):
        cell_a = first.verdicts[ids].rows
        cell_b = second.verdicts[ids].rows
        quantity = next(name for name in STANDING if name in cell_a and name in cell_b)
        row_a = cell_a[quantity]
        row_b = cell_b[quantity]
        alike = row_a.verdict == row_b.verdict
        difference = gap_difference(vars(row_b), vars(row_a))
        cells.append(ComparedCell(ids, quantity, row_a, row_b, alike, difference))
    # max leaves NaN out, which would leave the order to chance.
    return sorted(cells, key=lambda c: (not c.differs, -max(-1.0, abs(c.difference.estimate))))


def differing(first: Mapping[str, str], second: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Return the keys whose values differ, with both values; a dash stands for none."""
    both = {key: (first.get(key) or "–", second.get(key) or "–") for key in (*first, *second)}
    return [(key, *values) for key, values in both.items() if values[0] != values[1]]


def _parts(first: Run, second: Run, *, all_cells: bool) -> Iterator[RenderableType]:
    yield visible(f"A  {first.name}")
    yield visible(f"B  {second.name}")
    for title, rows in (
        ("configuration", differing(first.settings, second.settings)),
        ("versions", differing(first.versions, second.versions)),
    ):
        yield ""
        yield table_of((title, "A", "B"), rows) if rows else f"{title}: the same"
    cells = cells_of_both(first, second)
    yield ""
    yield _extent(cells, first, second)
    if shown := [cell for cell in cells if all_cells or cell.differs]:
        yield _table(shown)


def _extent(cells: Sequence[ComparedCell], first: Run, second: Run) -> str:
    """Return how many cells both have, and how many verdicts agree, in words."""
    differences = [cell.difference for cell in cells]
    testable = sum(difference.is_testable for difference in differences)
    apart = sum(difference.apart for difference in differences)
    counts = (
        (len(cells), "cells of both", True),
        (sum(cell.is_alike for cell in cells), "with the same verdict", True),
        (apart, "with gaps further apart than by chance", testable),
        (len(cells) - testable, "whose gaps cannot be tested, with one training in a run", False),
        (len(first.verdicts.keys() - second.verdicts.keys()), "of A alone", False),
        (len(second.verdicts.keys() - first.verdicts.keys()), "of B alone", False),
    )
    return ", ".join(f"{n:,} {words}" for n, words, anyway in counts if n or anyway)


def _table(cells: Sequence[ComparedCell]) -> Table:
    heads = ("dataset", "model", "method", "metric", "gap", "A", "d", "B", "d", "B − A", "95 %")
    rows = []
    for cell in cells:
        difference = cell.difference
        groups = f"{cell.quantity}, {cell.ids[4]} − {cell.ids[5]}"
        interval = "one training"
        if difference.is_testable:
            interval = f"{signed(difference.ci_low)} to {signed(difference.ci_high)}"
        gaps = (
            *(cell.first.verdict or "–", signed(cell.first.d)),
            *(cell.second.verdict or "–", signed(cell.second.d)),
            *(signed(difference.estimate), interval),
        )
        rows.append((*cell.ids[:4], groups, *gaps))
    return table_of(heads, rows)
