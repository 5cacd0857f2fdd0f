"""Tool compare: two runs side by side, on the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

from exparity.core.escaping import visible
from exparity.core.flags import Flag, Folder
from exparity.core.formats import signed
from exparity.report.runs import ComparedCell, RunComparison, compare_runs, read_run
from exparity.report.terminal import table_of, terminal_here, write

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table


def compare(
    first: Folder, second: Folder, /, *, every: Annotated[bool, Flag(name="all")] = False
) -> None:
    """Say what differs between two runs: configuration, versions, verdicts and gaps.

    A cell is shown where its verdicts differ, or where the interval of the difference of its gaps
    excludes zero. Gaps are those of skill where both runs have it, else of the excess over random
    explanations, else of scores. The runs are taken for independent, each with several seeds.

    Args:
        first: results folder of the run that is compared with.
        second: results folder of the run that is looked at.
        every: show the cells in which nothing differs too.
    """
    comparison = compare_runs(read_run(first), read_run(second))
    write(terminal_here(), _parts(comparison, every=every))


def _parts(comparison: RunComparison, *, every: bool) -> Iterator[RenderableType]:
    yield visible(f"A  {comparison.first.name}")
    yield visible(f"B  {comparison.second.name}")
    for title, differences in (
        ("configuration", comparison.settings),
        ("versions", comparison.versions),
    ):
        yield ""
        if not differences:
            yield f"{title}: the same"
            continue
        rows = [(key, *(value or "–" for value in values)) for key, values in differences.items()]
        yield table_of((title, "A", "B"), rows)
    yield ""
    yield _extent(comparison)
    cells = comparison.cells if every else comparison.differing
    if cells:
        yield _cells(cells)


def _extent(comparison: RunComparison) -> str:
    """Say how many cells both have, and how many verdicts agree."""
    alike = sum(len({*cell.verdicts}) == 1 for cell in comparison.cells)
    alone = ", ".join(
        f"{len(cells)} of {name} alone"
        for name, cells in zip("AB", comparison.alone, strict=True)
        if cells
    )
    cells = comparison.cells
    testable = [cell.difference for cell in cells if cell.difference.is_testable]
    parts = [f"{len(cells):,} cells of both", f"{alike:,} with the same verdict"]
    if testable:
        apart = sum(difference.apart for difference in testable)
        parts.append(f"{apart:,} with gaps further apart than by chance")
    if untestable := len(cells) - len(testable):
        parts.append(f"{untestable:,} whose gaps cannot be tested, with one training in a run")
    return f"{', '.join(parts)}{f'; {alone}' if alone else ''}"


def _cells(cells: Sequence[ComparedCell]) -> Table:
    heads = ("dataset", "model", "method", "metric", "gap", "A", "d", "B", "d", "B − A", "95 %")
    rows = []
    for cell in cells:
        (first, second), difference = cell.verdicts, cell.difference
        groups = f"{cell.quantity}, {cell.ids[4]} − {cell.ids[5]}"
        interval = "one training"
        if difference.is_testable:
            interval = f"{signed(difference.ci_low)} to {signed(difference.ci_high)}"
        written = (first or "–", signed(cell.first["d"]), second or "–", signed(cell.second["d"]))
        rows.append((*cell.ids[:4], groups, *written, signed(difference.estimate), interval))
    return table_of(heads, rows)
