"""Results on a terminal: verdicts and means as tables, with or without colour, at any width."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from exparity.core.escaping import visible
from exparity.core.formats import signed
from exparity.metrics.facts import ARROWS, Direction
from exparity.report.dependence import numbers_of
from exparity.report.flags import meaning_of
from exparity.report.means import MeanTable
from exparity.report.tables import CellKey, by_cell, by_table
from exparity.report.verdicts import (
    QUANTITIES,
    counts_of,
    detectable,
    effect_size,
    legend,
    missed_line,
    named,
    nothing_found,
    run_of,
    texts_line,
)
from exparity.stats.crossed import PROMPT
from exparity.stats.dependence import Dependence

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

# First group higher, second group higher; from pale to strong, with black text readable on all.
_SHADES = (("#d6e8f5", "#a9d0ec", "#7db8e2"), ("#fbe0cb", "#f5bd93", "#ee9b5d"))
_GAP = 2  # blanks between columns
_KINDS = ("dataset", "model", "method", "metric")


@dataclass(frozen=True)
class ShownVerdicts:
    """What is shown.

    Attributes:
        verdicts: rows of the verdicts artefact.
        order: ids by kind in the order of the config; others follow.
        directions: which values of a metric are better, as far as that is known.
        means: mean scores of data without groups.
        dependence: how far label and group go together, by dataset and split.
    """

    title: str
    verdicts: Sequence[Mapping[str, Any]]
    threshold: float
    order: Mapping[str, Sequence[str]]
    directions: Mapping[str, Direction] = field(default_factory=dict)
    means: Sequence[MeanTable] = ()
    dependence: Mapping[str, Mapping[str, Dependence]] = field(default_factory=dict)

    @property
    def judged(self) -> Sequence[Mapping[str, Any]]:
        """The verdicts that tables show: of what says most."""
        of = {q: [r for r in self.verdicts if r["quantity"] == q] for q in ("excess", "score")}
        return of["excess"] if any(row["verdict"] for row in of["excess"]) else of["score"]

    def ids(self, kind: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
        """Return the ids of a kind that rows have, in order."""
        present = dict.fromkeys(row[kind] for row in rows)
        known = [id for id in self.order.get(kind, ()) if id in present]
        return known + [id for id in present if id not in known]


class _Cell(NamedTuple):
    """What a cell says, and its style."""

    text: str
    style: str


def render(selection: ShownVerdicts, width: int | None = None) -> Iterator[RenderableType]:
    """Yield what to print, in order; at any width if None, which is no terminal."""
    if selection.title:
        yield _text(selection.title, "bold")
    if selection.judged:
        yield from _verdicts(selection, width)
    for table in selection.means:
        yield ""
        about = "  no groups: mean score and its interval"
        about += "; bold: best of a model’s methods" if width is not None else ""
        yield _text(table.dataset, "bold").append(_text(about, "not bold"))
        cells = {
            key: _Cell(_mean(table, key), "bold" if key in table.best else "")
            for key in table.lines
        }
        rows = [vars(line) for line in table.lines.values()]
        yield from _grid(selection, cells, rows, width)


def _verdicts(selection: ShownVerdicts, width: int | None) -> Iterator[RenderableType]:
    """Yield how many cells are decided, each cell's verdict, and what verdicts say."""
    judged = selection.judged
    several = max(row["n_seeds"] for row in judged)
    yield _text(_extent(judged, several))
    yield ""
    yield from _counts(selection)
    yield from _of_data(selection)
    flags = Counter(flag for row in judged if not row["verdict"] for flag in row["flags"])
    for flag, n in sorted(flags.items()):
        yield _text(f"not tested, {flag} ({n}): {meaning_of(flag)}", "italic")
    tables, order = by_table(judged), selection.ids("dataset", judged)
    for (dataset, a, b), rows in sorted(tables.items(), key=lambda item: order.index(item[0][0])):
        yield ""
        about = f"  {QUANTITIES[judged[0]['quantity']]}: d of {a} − {b}, and its verdict"
        yield _text(dataset, "bold").append(_text(about, "not bold"))
        cells = {key: _cell(row, selection.threshold) for key, (row,) in by_cell(rows).items()}
        yield from _grid(selection, cells, rows, width)
    yield ""
    run = run_of(judged)
    bold = f"; bold from |d| = {selection.threshold:g}" if width is not None else ""
    key = _text(f"d: mean over all {run}s{bold}. ", "dim")
    groups = {(a, b) for _, a, b in tables}
    if width is not None:
        names = groups.pop() if len(groups) == 1 else ("first group", "second group")
        for name, (_, shade, _) in zip(names, _SHADES, strict=True):
            key.append(_text(f" {name} higher ", f"not dim black on {shade}")).append(" ")
    yield key.append(f"±: {run}s of opposite sign.")
    shown = {named(row["verdict"]).label for row in judged if row["verdict"]}
    said = legend(threshold=selection.threshold, of_one=several < 2, run=run)
    for label, sentence in said.items():
        if label in shown:
            yield _text(f"{label}: {sentence}", "dim")
    for sentence in (
        nothing_found(judged, one_training=several < 2),
        texts_line(judged),
        missed_line(several, run),
    ):
        if sentence:
            yield _text(sentence)


def _extent(judged: Sequence[Mapping[str, Any]], n_seeds: int) -> str:
    numbers = {"cell": len(judged)}
    numbers |= {kind: len({row[kind] for row in judged}) for kind in _KINDS}
    numbers[run_of(judged)] = n_seeds
    cells, *parts = (f"{n:,} {kind}{'s' if n != 1 else ''}" for kind, n in numbers.items())
    return f"{cells}: {', '.join(parts)}"


def _counts(selection: ShownVerdicts) -> Iterator[RenderableType]:
    """Yield how many cells are decided, and have each verdict."""
    for counted in counts_of(selection.verdicts):
        words = [
            f"{n} {named(id).label.lower()}"
            for id, n in counted.by_verdict.items()
            if counted.n_seeds > 1 or named(id).sentence_of_one
        ]
        over = " over prompts" if run_of(selection.verdicts) == PROMPT else ""
        yield _text(
            f"{QUANTITIES[counted.quantity]}{over}: decided {counted.decided} of {counted.total} "
            f"cells (strict: {counted.strict}): {', '.join(words)}"
        )


def _of_data(selection: ShownVerdicts) -> Iterator[RenderableType]:
    """Yield how far label and group go together, and which gaps a dataset can show."""
    for dataset in selection.ids("dataset", selection.judged):
        least = detectable(row for row in selection.judged if row["dataset"] == dataset)
        parts = []
        if by_split := selection.dependence.get(dataset):
            parts.append(f"Cramér’s V of label and group {numbers_of(by_split)}")
        if least == least:
            parts.append(f"a mean gap of |d| = {least:.2g} is found in half of the cells")
        if parts:
            yield _text(f"{dataset}: {'; '.join(parts)}")


def _cell(row: Mapping[str, Any], threshold: float) -> _Cell:
    """Return d and verdict of a cell, coloured by who scores higher where that is said."""
    if not row["verdict"]:
        return _Cell("– not tested", "dim")
    verdict, d = named(row["verdict"]), row["d"]
    marks = "±" * bool(row["seeds_above"] and row["seeds_below"])
    style = "dim"
    if verdict.is_gap:
        size = effect_size(row)
        style = "bold " if size >= threshold else ""
        shade = _SHADES[d < 0][min(2, int(3 * min(size, 1.0)))]
        style += f"black on {shade}" if verdict.favours and d else ""
    return _Cell(f"{signed(d)} {verdict.id}{marks}", style.strip())


def _mean(table: MeanTable, key: CellKey) -> str:
    interval = table.interval(table.lines[key])
    return table.text(table.lines[key]) + (f" ({interval})" if interval else "")


def _grid(
    selection: ShownVerdicts,
    cells: Mapping[CellKey, _Cell],
    rows: Sequence[Mapping[str, Any]],
    width: int | None,
) -> Iterator[RenderableType]:
    """Yield a table of methods and metrics, in as many parts as the width asks for."""
    models, methods, metrics = (selection.ids(kind, rows) for kind in _KINDS[1:])
    arrows = {metric: ARROWS[direction] for metric, direction in selection.directions.items()}
    cell = max(len(one.text) for one in cells.values())
    longest = max(map(len, (*models, *(f"  {method}" for method in methods))))
    name = longest if width is None else min(longest, width // 3)
    fitting = len(metrics) if width is None else max(1, (width - name - _GAP) // (cell + _GAP))
    for start in range(0, len(metrics), fitting):
        part = metrics[start : start + fitting]
        table = empty_table()
        table.add_column("", max_width=name, overflow="fold")
        for metric in part:
            head = _broken(f"{metric} {arrows.get(metric, '')}".strip(), width and cell)
            table.add_column(_text(head, "bold", "\n"), overflow="fold", vertical="bottom")
        for model in models:
            table.add_row(_text(_broken(model, width and name), "bold", "\n"))
            for method in methods:
                of_method = [cells.get((model, method, metric)) for metric in part]
                if any(of_method):
                    about = _text(_broken(f"  {method}", width and name), keep="\n")
                    values = (_text(*one) if one else _text("–") for one in of_method)
                    table.add_row(about, *values)
        if start:
            yield ""
        yield table


def _broken(id: str, width: int | None) -> str:
    """Return an id with a line for each of its parts, where it is longer than a width."""
    indent = id[: len(id) - len(id.lstrip())]
    return id if width is None or len(id) <= width else id.replace("_", f"_\n{indent}")


def terminal_here() -> tuple[Console, int | None]:
    """Return standard output and its width; None where it is no terminal."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        return Console(highlight=False, width=10_000), None
    return console, console.width


def write(console: Console, parts: Iterable[RenderableType]) -> None:
    """Write parts to standard output, without blanks at the ends of lines."""
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # signs that a terminal of old has no letter for
    # Not by rich, so that a reader that stops early is treated as by other commands.
    lines = captured.get().splitlines()
    sys.stdout.write("\n".join(line.rstrip() for line in lines) + "\n")


def empty_table(header_style: str = "") -> Table:
    """Return a table without lines."""
    from rich.table import Table

    return Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style=header_style)


def _text(words: str, style: str = "", keep: str = "") -> Text:
    """Return words as they are: no markup acts, nor control characters but those to keep."""
    from rich.text import Text

    return Text(visible(words, keep), style=style)
