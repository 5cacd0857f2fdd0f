"""Results on a terminal: headline and disparity tables, with or without colour, at any width."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from exparity.report.tables import by_table
from exparity.report.terminal.grid import grid_tables
from exparity.report.terminal.headline import headline
from exparity.report.terminal.selection import Selection, Terminal, text_of

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

__all__ = ["Selection", "Terminal", "render"]

_CORRECTED = {"none": "", "holm": ", corrected by Holm", "bh": ", by Benjamini and Hochberg"}


def render(selection: Selection, terminal: Terminal) -> Iterator[RenderableType]:
    """Yield what to print, in order."""
    if selection.title:
        yield text_of(selection.title, "bold")
    yield text_of(_extent(selection))
    yield ""
    yield headline(selection, terminal.width)
    for note in (*_flags(selection), *selection.notes):
        yield text_of(note, "italic")
    tables, order = by_table(selection.rows), selection.ids("dataset", selection.rows)
    for (dataset, a, b), rows in sorted(tables.items(), key=lambda item: order.index(item[0][0])):
        yield ""
        title = text_of(dataset, "bold")
        about = f"  seeds with a significant difference, mean d of {a} − {b}"
        yield title.append(text_of(about, "not bold"))
        yield from grid_tables(selection, rows, terminal)
    yield ""
    yield _legend(selection, terminal, {(a, b) for _, a, b in tables})


def _extent(selection: Selection) -> str:
    parts = []
    for kind in ("dataset", "model", "seed", "method", "metric"):
        n = len({row[kind] for row in selection.rows})
        parts.append(f"{n} {kind}{'s' if n != 1 else ''}")
    n = len(selection.rows)
    return f"{n:,} test{'s' if n != 1 else ''}: {', '.join(parts)}"


def _flags(selection: Selection) -> list[str]:
    counts = Counter(flag for row in selection.rows for flag in row["flags"])
    if not counts:
        return []
    return ["flagged: " + ", ".join(f"{flag} ({n})" for flag, n in sorted(counts.items()))]


def _legend(selection: Selection, terminal: Terminal, groups: set[tuple[str, str]]) -> Text:
    from rich.text import Text

    bold = f"; bold from |d| = {selection.threshold:g}" if terminal.width is not None else ""
    legend = Text(style="dim")
    legend.append(
        f"Counts: seeds with p ≤ {selection.alpha:g}{_CORRECTED[selection.correction]}, of those "
        f"tested. d: mean over these, over all if there are none{bold}. "
    )
    if terminal.colours:
        names = groups.pop() if len(groups) == 1 else ("first group", "second group")
        for name, direction in zip(names, (1, -1), strict=True):
            shade = terminal.shade(direction, 0.5)
            legend.append(text_of(f" {name} higher ", f"not dim black on {shade}"))
            legend.append(" ")
    legend.append("*: a test is flagged. Intervals take tests for independent.")
    return legend
