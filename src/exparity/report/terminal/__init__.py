"""Results on a terminal: headline and disparity tables, with or without colour, at any width."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from exparity.report.terminal.grid import grid_tables
from exparity.report.terminal.headline import headline
from exparity.report.terminal.shown import Shown, Terminal, text_of

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

__all__ = ["Shown", "Terminal", "render"]

_CORRECTED = {"none": "", "holm": ", corrected by Holm", "bh": ", by Benjamini and Hochberg"}


def render(shown: Shown, terminal: Terminal) -> Iterator[RenderableType]:
    """Yield what to print, in order."""
    if shown.title:
        yield text_of(shown.title, "bold")
    yield text_of(_extent(shown))
    yield ""
    yield headline(shown, terminal.width)
    for note in (*_flags(shown), *shown.notes):
        yield text_of(note, "italic")
    groups = dict.fromkeys((row["dataset"], row["group_a"], row["group_b"]) for row in shown.rows)
    order = shown.ids("dataset", shown.rows)
    for dataset, a, b in sorted(groups, key=lambda key: order.index(key[0])):
        rows = [
            r for r in shown.rows if (r["dataset"], r["group_a"], r["group_b"]) == (dataset, a, b)
        ]
        yield ""
        title = text_of(dataset, "bold")
        about = f"  seeds with a significant difference, mean d of {a} − {b}"
        yield title.append(text_of(about, "not bold"))
        yield from grid_tables(shown, rows, terminal)
    yield ""
    yield _legend(shown, terminal, {(a, b) for _, a, b in groups})


def _extent(shown: Shown) -> str:
    parts = []
    for kind in ("dataset", "model", "seed", "method", "metric"):
        n = len({row[kind] for row in shown.rows})
        parts.append(f"{n} {kind}{'s' if n != 1 else ''}")
    n = len(shown.rows)
    return f"{n:,} test{'s' if n != 1 else ''}: {', '.join(parts)}"


def _flags(shown: Shown) -> list[str]:
    found = Counter(flag for row in shown.rows for flag in row["flags"])
    if not found:
        return []
    return ["flagged: " + ", ".join(f"{flag} ({n})" for flag, n in sorted(found.items()))]


def _legend(shown: Shown, terminal: Terminal, groups: set[tuple[str, str]]) -> Text:
    from rich.text import Text

    bold = f"; bold from |d| = {shown.threshold:g}" if terminal.width is not None else ""
    legend = Text(style="dim")
    legend.append(
        f"Counts: seeds with p ≤ {shown.alpha:g}{_CORRECTED[shown.correction]}, of those tested. "
        f"d: mean over these, over all if there are none{bold}. "
    )
    if terminal.colours:
        names = groups.pop() if len(groups) == 1 else ("first group", "second group")
        for name, direction in zip(names, (1, -1), strict=True):
            shade = terminal.shade(direction, 0.5)
            legend.append(text_of(f" {name} higher ", f"not dim black on {shade}"))
            legend.append(" ")
    legend.append("*: a test is flagged. Intervals take tests for independent.")
    return legend
