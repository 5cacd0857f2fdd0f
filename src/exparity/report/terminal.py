"""Results on a terminal: headline and disparity tables, with or without colour, at any width."""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from exparity.core.escaping import visible
from exparity.core.formats import percent, signed
from exparity.metrics.facts import ARROWS
from exparity.report.dependence import numbers_of
from exparity.report.flags import meaning_of
from exparity.report.means import MeanTable
from exparity.report.tables import CellKey, by_cell, by_table, headlines
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
from exparity.stats.seeds import count_seeds, has_both_signs, mean_effect
from exparity.stats.significance import headline_shares

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

# First group higher, second group higher; from pale to strong, with black text readable on all.
_SHADES = (("#d6e8f5", "#a9d0ec", "#7db8e2"), ("#fbe0cb", "#f5bd93", "#ee9b5d"))
_OF_SIXTEEN_COLOURS = (("cyan",) * 3, ("yellow",) * 3)
_GAP = 2  # blanks between columns
_CORRECTED = {"none": "", "holm": ", corrected by Holm", "bh": ", by Benjamini and Hochberg"}


@dataclass(frozen=True)
class ShownTests:
    """What is shown.

    Attributes:
        excess: tests of their excess over random explanations.
        random_rows: tests of random explanations that belong to them, with flags.
        counted: column that says which tests count as significant.
        correction: its correction: ``none``, ``holm`` or ``bh``; None where tables show verdicts,
            if there are any.
        order: ids by kind in the order of the config; others follow.
        verdicts: rows of the verdicts artefact that belong to the tests.
        dependence: how far label and group go together, by dataset and split.
    """

    title: str
    rows: Sequence[Mapping[str, Any]]
    excess: Sequence[Mapping[str, Any]]
    random_rows: Sequence[Mapping[str, Any]]
    counted: str
    correction: str | None
    alpha: float
    threshold: float
    order: Mapping[str, Sequence[str]]
    notes: Sequence[str]
    means: Sequence[MeanTable] = ()
    verdicts: Sequence[Mapping[str, Any]] = ()
    dependence: Mapping[str, Mapping[str, Dependence]] = field(default_factory=dict)

    @property
    def judged(self) -> Sequence[Mapping[str, Any]]:
        """The verdicts that tables show: of what says most; none where single tests are counted."""
        if self.correction is not None:
            return ()
        for quantity in QUANTITIES:
            rows = [row for row in self.verdicts if row["quantity"] == quantity]
            if any(row["verdict"] for row in rows):
                return rows
        return ()

    def ids(self, kind: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
        """Return the ids of a kind that rows have, in order."""
        present = dict.fromkeys(row[kind] for row in rows)
        known = [id for id in self.order.get(kind, ()) if id in present]
        return known + [id for id in present if id not in known]


@dataclass(frozen=True)
class Terminal:
    """Where it is shown.

    Attributes:
        width: columns; None if it is no terminal, so that lines may have any length.
    """

    width: int | None = None
    colours: int = 0

    def shade(self, direction: float, share: float) -> str:
        """Return the colour of a cell by the group that scores higher and the share of seeds."""
        shades = _SHADES if self.colours > 16 else _OF_SIXTEEN_COLOURS
        return shades[direction < 0][min(2, int(3 * share))]


def render(selection: ShownTests, terminal: Terminal) -> Iterator[RenderableType]:
    """Yield what to print, in order."""
    if selection.title:
        yield _text(selection.title, "bold")
    if selection.rows:
        yield from _tests(selection, terminal)
    for table in selection.means:
        yield ""
        about = "  no groups: mean score and its interval"
        about += "; bold: best of a model’s methods" if terminal.width is not None else ""
        yield _text(table.dataset, "bold").append(_text(about, "not bold"))
        yield from _means(selection, table, terminal)


def _tests(selection: ShownTests, terminal: Terminal) -> Iterator[RenderableType]:
    """Yield headline and tables of what is compared."""
    yield _text(_extent(selection))
    yield ""
    judged = selection.judged
    yield from _verdicts(selection)
    yield from _of_data(selection) if judged else [_headline(selection, terminal.width)]
    counts = Counter(flag for row in selection.rows for flag in row["flags"])
    flagged = [f"flagged {flag} ({n}): {meaning_of(flag)}" for flag, n in sorted(counts.items())]
    for note in (*flagged, *selection.notes):
        yield _text(note, "italic")
    tables, order = by_table(judged or selection.rows), selection.ids("dataset", selection.rows)
    for (dataset, a, b), rows in sorted(tables.items(), key=lambda item: order.index(item[0][0])):
        yield ""
        about = f"  seeds with a significant difference, mean d of {a} − {b} over all seeds"
        if judged:
            about = f"  {QUANTITIES[judged[0]['quantity']]}: d of {a} − {b}, and its verdict"
        yield _text(dataset, "bold").append(_text(about, "not bold"))
        yield from _grids(selection, rows, terminal)
    yield ""
    yield _key(selection, terminal, {(a, b) for _, a, b in tables})
    if judged:
        yield from _closing(selection)


def terminal_here() -> tuple[Console, Terminal]:
    """Return what standard output is; lines have any length where it is no terminal."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        return Console(highlight=False, width=10_000), Terminal()
    colours = {None: 0, "standard": 16, "windows": 16}.get(console.color_system, 256)
    return console, Terminal(console.width, 0 if console.no_color else colours)


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


def _text(words: str, style: str = "", keep: str = "") -> Text:
    """Return words as they are: no markup acts, nor control characters but those to keep."""
    from rich.text import Text

    return Text(visible(words, keep), style=style)


def empty_table(header_style: str = "") -> Table:
    """Return a table without lines."""
    from rich.table import Table

    return Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style=header_style)


def _extent(selection: ShownTests) -> str:
    parts = []
    for kind in ("dataset", "model", "seed", "method", "metric"):
        n = len({row[kind] for row in selection.rows})
        parts.append(f"{n} {kind}{'s' if n != 1 else ''}")
    n = len(selection.rows)
    return f"{n:,} test{'s' if n != 1 else ''}: {', '.join(parts)}"


def _verdicts(selection: ShownTests) -> Iterator[RenderableType]:
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


def _of_data(selection: ShownTests) -> Iterator[RenderableType]:
    """Yield how far label and group go together, and which gaps a dataset can show."""
    for dataset in selection.ids("dataset", selection.rows):
        rows = [row for row in selection.judged if row["dataset"] == dataset]
        least, parts = detectable(rows), []
        if by_split := selection.dependence.get(dataset):
            parts.append(f"Cramér’s V of label and group {numbers_of(by_split)}")
        if least == least:
            parts.append(f"a mean gap of |d| = {least:.2g} is found in half of the cells")
        if parts:
            yield _text(f"{dataset}: {'; '.join(parts)}")


def _closing(selection: ShownTests) -> Iterator[RenderableType]:
    """Yield what the verdicts shown say, and what they cannot."""
    judged, several = selection.judged, [r for r in selection.judged if r["n_seeds"] > 1]
    shown = {named(row["verdict"]).label for row in judged if row["verdict"]}
    run = run_of(judged)
    said = legend(threshold=selection.threshold, of_one=not several, run=run)
    for label, sentence in said.items():
        if label in shown:
            yield _text(f"{label}: {sentence}", "dim")
    for sentence in (
        nothing_found(judged, one_training=not several),
        texts_line(judged),
        missed_line(max(row["n_seeds"] for row in judged), run),
    ):
        if sentence:
            yield _text(sentence)


def _headline(selection: ShownTests, width: int | None) -> Table:
    """Return shares of significant tests, as the page does, with intervals and those by chance."""
    table = empty_table()
    table.add_column(f"significant at p ≤ {selection.alpha:g}")
    shares = headline_shares(
        [*selection.rows, *selection.excess],
        alpha=selection.alpha,
        random_rows=selection.random_rows,
    )
    # What there is no room for is left out, as is what only the report corrects.
    room = {"": 0, "share": 0, "95 % interval": 105, "Holm": 77, "BH": 77, "random": 58}
    room |= {"permuted": 88}
    kept = {head: width is None or width >= least for head, least in room.items()}
    kept |= {} if "holm" in shares else {"Holm": False, "BH": False}
    for head in kept:
        if kept[head]:
            table.add_column(head, justify="right", no_wrap=True)
    for one in headlines(shares):
        share = one.share
        low, high = share.interval()
        others = one.holm, one.bh, share.random, share.permuted
        values: list[str | Text] = [
            f"{share.hits:,} of {share.n:,}",
            _text(percent(share.share), "bold"),
            f"{100 * low:.1f} to {percent(high)}",
            *("" if other is None else percent(other.share) for other in others),
        ]
        name = f"{one.quantity.partition(' ')[0]}: {one.test.removesuffix(' on matched sets')}"
        table.add_row(name, *(v for v, keep in zip(values, kept.values(), strict=True) if keep))
    return table


def _key(selection: ShownTests, terminal: Terminal, groups: set[tuple[str, str]]) -> Text:
    bold = f"; bold from |d| = {selection.threshold:g}" if terminal.width is not None else ""
    key = _text("", "dim")
    if selection.judged:
        key.append(f"d: mean over all {run_of(selection.judged)}s{bold}. ")
    else:
        key.append(
            f"Counts: seeds with p ≤ {selection.alpha:g}"
            f"{_CORRECTED[selection.correction or 'none']}, of those tested. "
            f"d: mean over all seeds{bold}. "
        )
    if terminal.colours:
        names = groups.pop() if len(groups) == 1 else ("first group", "second group")
        for name, direction in zip(names, (1, -1), strict=True):
            shade = terminal.shade(direction, 0.5)
            key.append(_text(f" {name} higher ", f"not dim black on {shade}"))
            key.append(" ")
    key.append("±: seeds of opposite sign. *: a test is flagged.")
    if not selection.judged:
        key.append(" Intervals take tests for independent.")
    return key


@dataclass(frozen=True)
class _Layout:
    """How a table is fitted: width of names and of cells, None where nothing is folded."""

    name: int | None = None
    cell: int | None = None
    glue: str = " "


class _Cell(NamedTuple):
    """What a cell says, in two parts that stand beside or below each other, and its style."""

    first: str
    second: str
    style: str


def _grids(
    selection: ShownTests, rows: Sequence[Mapping[str, Any]], terminal: Terminal
) -> Iterator[RenderableType]:
    """Yield the table of one dataset and pair of groups."""
    shown = _judged if selection.judged else _cell
    cells = {key: shown(selection, tests, terminal) for key, tests in by_cell(rows).items()}
    ids = {kind: selection.ids(kind, rows) for kind in ("model", "method", "metric")}
    arrows = {
        row["metric"]: ARROWS[row["metric_direction"]]
        for row in selection.rows
        if "metric_direction" in row
    }
    yield from _fitted(cells, ids, arrows, terminal)


def _means(selection: ShownTests, table: MeanTable, terminal: Terminal) -> Iterator[RenderableType]:
    """Yield the means of one dataset."""
    cells = {
        key: _Cell(
            table.text(line),
            f"({table.interval(line)})" if table.interval(line) else "",
            "bold" if key in table.best else "",
        )
        for key, line in table.lines.items()
    }
    rows = [vars(line) for line in table.lines.values()]
    ids = {kind: selection.ids(kind, rows) for kind in ("model", "method", "metric")}
    arrows = {metric: ARROWS[direction] for metric, direction in table.directions.items()}
    yield from _fitted(cells, ids, arrows, terminal)


def _fitted(
    cells: Mapping[CellKey, _Cell],
    ids: Mapping[str, Sequence[str]],
    arrows: Mapping[str, str],
    terminal: Terminal,
) -> Iterator[RenderableType]:
    """Yield a table of methods and metrics, in as many parts as the width asks for."""
    models, methods, metrics = (ids[kind] for kind in ("model", "method", "metric"))
    names = [visible(name) for name in (*models, *(f"  {method}" for method in methods))]
    layout, per_table = _layout(terminal.width, names, list(cells.values()), len(metrics))
    for start in range(0, len(metrics), per_table):
        part = metrics[start : start + per_table]
        table = empty_table()
        table.add_column("", width=layout.name)
        for metric in part:
            head = folded(f"{metric} {arrows.get(metric, '')}".strip(), layout.cell)
            table.add_column(_text(head, "bold", "\n"), width=layout.cell, vertical="bottom")
        for model in models:
            table.add_row(_text(folded(model, layout.name), "bold", "\n"))
            for method in methods:
                row = [cells.get((model, method, metric)) for metric in part]
                if any(row):
                    name = folded(f"  {method}", layout.name)
                    table.add_row(_text(name, keep="\n"), *(_filled(cell, layout) for cell in row))
        if start:
            yield ""
        yield table


def _layout(
    width: int | None, names: Sequence[str], cells: Sequence[_Cell], n: int
) -> tuple[_Layout, int]:
    """Return the layout, and how many metrics a table has room for."""
    if width is None:
        return _Layout(), n
    longest = max(map(len, names))
    for glue in (" ", "\n"):
        lines = [line for cell in cells for line in _written(cell, glue).split("\n")]
        cell = max(6, *map(len, lines))
        for name in (longest, min(longest, max(16, width // 4))):
            fitting = (width - name - _GAP) // (cell + _GAP)
            if fitting >= n:
                return _Layout(name, cell, glue), n
    return _Layout(name, cell, glue), max(1, fitting)


def _written(cell: _Cell, glue: str) -> str:
    return f"{cell.first}{glue}{cell.second}"


def _cell(selection: ShownTests, tests: Sequence[Mapping[str, Any]], terminal: Terminal) -> _Cell:
    """Return count and effect, coloured by who scores higher and how often."""
    counts = count_seeds(tests, selection.threshold, selection.counted)
    d = mean_effect(tests)
    style = "bold " if counts.significant and abs(d) >= selection.threshold else ""
    if counts.significant and d:
        style += f"black on {terminal.shade(d, counts.significant / counts.total)}"
    elif not counts.significant:
        style += "dim"
    effect = "" if math.isnan(d) else signed(d)
    marks = "±" * has_both_signs(tests) + "*" * bool(counts.starred)
    return _Cell(f"{counts.significant}/{counts.total}", f"{effect}{marks}", style.strip())


def _judged(selection: ShownTests, rows: Sequence[Mapping[str, Any]], terminal: Terminal) -> _Cell:
    """Return d and verdict of a cell, coloured by who scores higher where that is said."""
    (row,) = rows
    if not row["verdict"]:
        return _Cell("–", "not tested", "dim")
    verdict, d = named(row["verdict"]), row["d"]
    marks = "±" * bool(row["seeds_above"] and row["seeds_below"])
    style = "dim"
    if verdict.is_gap:
        size = effect_size(row)
        style = "bold " if size >= selection.threshold else ""
        style += f"black on {terminal.shade(d, min(size, 1.0))}" if verdict.favours and d else ""
    return _Cell(signed(d), f"{verdict.id}{marks}", style.strip())


def _filled(cell: _Cell | None, layout: _Layout) -> Text:
    """Return a cell as its table shows it."""
    if cell is None:
        return _text("–")
    text = _written(cell, layout.glue)
    if layout.cell is not None:  # all of the cell is coloured
        text = "\n".join(line.ljust(layout.cell) for line in text.split("\n"))
    return _text(text, cell.style, "\n")


def folded(text: str, width: int | None) -> str:
    """Return an id broken at blanks and underscores, and long words into equal parts."""
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
