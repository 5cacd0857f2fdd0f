"""The disparity table of one dataset, fitted to the width of a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from exparity.core.escaping import visible
from exparity.core.formats import signed
from exparity.interface import ARROWS
from exparity.report.tables import CellKey, by_cell
from exparity.report.terminal.selection import GAP, Selection, Terminal
from exparity.stats.seeds import SeedCounts, count_seeds

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text


def grid_tables(
    selection: Selection, rows: Sequence[Mapping[str, Any]], terminal: Terminal
) -> Iterator[RenderableType]:
    """Yield the table of one dataset and pair of groups, in as many parts as the width asks for."""
    cells = {
        key: count_seeds(tests, selection.threshold, selection.counted)
        for key, tests in by_cell(rows).items()
    }
    models, methods, metrics = (selection.ids(kind, rows) for kind in ("model", "method", "metric"))
    arrows = {
        row["metric"]: ARROWS[row["metric_direction"]] for row in rows if "metric_direction" in row
    }
    names = [visible(name) for name in (*models, *(f"  {method}" for method in methods))]
    layout, per_table = _layout(terminal.width, names, list(cells.values()), len(metrics))
    for start in range(0, len(metrics), per_table):
        part = metrics[start : start + per_table]
        heads = [f"{metric} {arrows.get(metric, '')}".strip() for metric in part]
        if start:
            yield ""
        yield _table(cells, models, methods, part, heads, layout, terminal)


@dataclass(frozen=True)
class _Layout:
    """How a table is fitted: width of names and of cells, None where nothing is folded."""

    name: int | None = None
    cell: int | None = None
    glue: str = " "


def _layout(
    width: int | None, names: Sequence[str], cells: Sequence[SeedCounts], n: int
) -> tuple[_Layout, int]:
    """Return the layout, and how many metrics a table has room for."""
    if width is None:
        return _Layout(), n
    longest = max(map(len, names))
    for glue in (" ", "\n"):
        lines = [line for counts in cells for line in _text(counts, glue).split("\n")]
        cell = max(6, *map(len, lines))
        for name in (longest, min(longest, max(16, width // 4))):
            fitting = (width - name - GAP) // (cell + GAP)
            if fitting >= n:
                return _Layout(name, cell, glue), n
    return _Layout(name, cell, glue), max(1, fitting)


def _table(
    cells: Mapping[CellKey, SeedCounts],
    models: Sequence[str],
    methods: Sequence[str],
    metrics: Sequence[str],
    heads: Sequence[str],
    layout: _Layout,
    terminal: Terminal,
) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="")
    table.add_column("", width=layout.name)
    for head in heads:
        text = Text(folded(head, layout.cell), style="bold")
        table.add_column(text, width=layout.cell, vertical="bottom")
    for model in models:
        table.add_row(Text(folded(model, layout.name), style="bold"))
        for method in methods:
            row = [cells.get((model, method, metric)) for metric in metrics]
            if any(row):
                name = Text(folded(f"  {method}", layout.name))
                table.add_row(name, *(_cell(counts, layout, terminal) for counts in row))
    return table


def _text(counts: SeedCounts, glue: str) -> str:
    effect = "" if counts.mean_d is None else signed(counts.mean_d)
    return f"{counts.significant}/{counts.total}{glue}{effect}{'*' if counts.flags else ''}"


def _cell(counts: SeedCounts | None, layout: _Layout, terminal: Terminal) -> Text:
    """Return one cell: count and effect, coloured by who scores higher and how often."""
    from rich.text import Text

    if counts is None:
        return Text("–")
    text = _text(counts, layout.glue)
    if layout.cell is not None:  # all of the cell is coloured
        text = "\n".join(line.ljust(layout.cell) for line in text.split("\n"))
    style = "bold " if counts.considerable else ""
    if counts.significant and counts.direction:
        style += f"black on {terminal.shade(counts.direction, counts.significant / counts.total)}"
    elif not counts.significant:
        style += "dim"
    return Text(text, style=style.strip())


def folded(text: str, width: int | None) -> str:
    """Return an id broken into lines: at blanks and underscores, and long words into equal parts.

    Args:
        text: the id.
        width: longest line; nothing is broken if None.
    """
    text = visible(text)
    if width is None or len(text) <= width:
        return text
    indent = len(text) - len(text.lstrip())
    room = max(1, width - indent)
    lines = [""]
    for gap, word in re.findall(r"(\s*)([^\s_]+_?|_)", text):
        parts = -(-len(word) // room)
        size = -(-len(word) // parts)
        for start in range(0, len(word), size):
            glue = " " if gap and lines[-1] and not start else ""
            piece = word[start : start + size]
            if len(lines[-1]) + len(glue) + len(piece) <= room:
                lines[-1] += glue + piece
            else:
                lines.append(piece)
    return "\n".join(" " * indent + line for line in lines)
