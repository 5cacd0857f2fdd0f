"""Results on a terminal: a row for each verdict or mean, and what can and cannot be concluded."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from exparity.core.escaping import visible
from exparity.core.formats import signed
from exparity.report.dependence import numbers_of
from exparity.report.flags import meaning_of
from exparity.report.gather import Verdicts, by_cell_and_quantity
from exparity.report.means import MeanTable
from exparity.report.tables import by_table
from exparity.report.verdicts import (
    QUANTITIES,
    certainty,
    counts_of,
    detectable,
    is_of,
    is_random,
    legend,
    missed_line,
    named,
    nothing_found,
    only_certainty,
    run_of,
    texts_line,
)
from exparity.stats.crossed import PROMPT
from exparity.stats.dependence import Dependence
from exparity.stats.multiplicity import CELL_IDS

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

_GAP = 2  # blanks between columns
_KINDS = ("dataset", "model", "method", "metric")
_BY = ("score", "excess", "skill")


@dataclass(frozen=True)
class ShownVerdicts:
    """What is shown.

    Attributes:
        verdicts: rows of the verdicts artefact.
        means: mean scores of data without groups.
        dependence: how far label and group go together, by dataset and split.
    """

    title: str
    verdicts: Sequence[Mapping[str, Any]]
    threshold: float
    means: Sequence[MeanTable] = ()
    dependence: Mapping[str, Mapping[str, Dependence]] = field(default_factory=dict)

    @property
    def judged(self) -> Sequence[Mapping[str, Any]]:
        """The verdicts that the table shows: those that stand of each cell."""
        return [row for row in self.verdicts if is_of(row, "stands")]

    @property
    def cells(self) -> Verdicts:
        """The rows of every cell by quantity."""
        return by_cell_and_quantity(row for row in self.verdicts if not is_random(row))


def render(selection: ShownVerdicts) -> Iterator[RenderableType]:
    """Yield what to print, in order."""
    if selection.title:
        yield _text(selection.title)
    if selection.judged:
        yield from _verdicts(selection)
    for table in selection.means:
        yield ""
        yield _text(f"{table.dataset}  no groups: mean score and its interval")
        lines = [
            (*key, table.text(line), table.interval(line)) for key, line in table.lines.items()
        ]
        yield table_of(("model", "method", "metric", "mean", "95 %"), lines)


def _verdicts(selection: ShownVerdicts) -> Iterator[RenderableType]:
    """Yield how many cells are decided, each cell's verdict, and what verdicts say."""
    judged = selection.judged
    several = max(row["n_seeds"] for row in judged)
    yield _text(_extent(judged, several))
    yield ""
    yield from _counts(selection)
    yield from _of_data(selection)
    flags = Counter(flag for row in judged if not row["verdict"] for flag in row["flags"])
    for flag, n in sorted(flags.items()):
        yield _text(f"not tested, {flag} ({n}): {meaning_of(flag)}")
    for (dataset, a, b), rows in by_table(judged).items():
        yield ""
        yield _text(f"{dataset}  d of {a} − {b}")
        lines, sentences = [], dict[str, None]()
        for row in rows:
            cell = selection.cells[tuple(row[id] for id in CELL_IDS)]
            gaps = (_gap(cell.get(name, {}).get("d", math.nan)) for name in _BY)
            lines.append((*(row[kind] for kind in _KINDS[1:]), *gaps, *_judged(row)))
            if sentence := only_certainty(cell, selection.threshold):
                sentences[f"{row['model']}, {row['metric']}: {sentence}"] = None
        yield table_of((*_KINDS[1:], *_BY, "R, 95 %", "verdict"), lines)
        yield from map(_text, sentences)
    yield ""
    run = run_of(judged)
    yield _text(
        f"d: mean over all {run}s, of scores, of their excess over random explanations and of "
        "skill, which is judged where there is one, else the excess. R: typical |d| of one "
        f"{run}. ±: {run}s of opposite sign."
    )
    shown = {named(row["verdict"]).label for row in judged if row["verdict"]}
    said = legend(threshold=selection.threshold, of_one=several < 2, run=run)
    for label, sentence in said.items():
        if label in shown:
            yield _text(f"{label}: {sentence}")
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
    for dataset in dict.fromkeys(row["dataset"] for row in selection.judged):
        least = detectable(row for row in selection.judged if row["dataset"] == dataset)
        parts = []
        if by_split := selection.dependence.get(dataset):
            parts.append(f"Cramér’s V of label and group {numbers_of(by_split)}")
        if sure := certainty(row for row in selection.judged if row["dataset"] == dataset):
            parts.append(sure)
        if least == least:
            parts.append(f"a mean gap of |d| = {least:.2g} is found in half of the cells")
        if parts:
            yield _text(f"{dataset}: {'; '.join(parts)}")


def _gap(d: float) -> str:
    return signed(d) if d == d else "–"


def _judged(row: Mapping[str, Any]) -> tuple[str, str]:
    """Return the interval of R and the verdict of a cell."""
    low, high = row["rms_low"], row["rms_high"]
    interval = "–" if high != high else f"{low:.2f} to {high:.2f}".replace("inf", "∞")
    marks = "±" * bool(row["seeds_above"] and row["seeds_below"])
    return interval, f"{row['verdict'] or 'not tested'}{marks}"


def terminal_here() -> Console:
    """Return standard output, as wide as it needs where it is no terminal."""
    from rich.console import Console

    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=10_000)


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


def table_of(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> Table:
    """Return a table of text, without lines."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for name in heads:
        table.add_column(name, overflow="fold")
    for line in lines:
        table.add_row(*map(_text, line))
    return table


def _text(words: str) -> Text:
    """Return words as they are: neither markup nor control characters act."""
    from rich.text import Text

    return Text(visible(words))
