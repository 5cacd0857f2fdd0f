"""Results on a terminal: a row for each verdict or mean, and the meaning of the verdicts."""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from exparity.core.escaping import visible
from exparity.core.formats import coverage, signed
from exparity.core.settings import DEFAULTS
from exparity.report.gather import by_cell_and_quantity
from exparity.report.means import MeanTable
from exparity.report.over_groups import lines_over_all_groups
from exparity.report.preference import favoured_group
from exparity.report.tables import by_table
from exparity.report.verdicts import (
    QUANTITIES,
    ceiling_line,
    certainty,
    counts_of,
    is_random,
    legend,
    missed_line,
    nothing_found,
    only_certainty,
    right_line,
    run_of,
    untested_sentences,
    untested_text,
    verdict_of,
)
from exparity.stats.multiplicity import CELL_IDS
from exparity.stats.verdicts import STANDING

_GAP = 2  # blanks between columns
_KINDS = ("dataset", "model", "method", "metric")
Rows = Sequence[Mapping[str, Any]]


def means_of(tables: Iterable[MeanTable], confidence: float) -> Iterator[RenderableType]:
    """Yield the means of the scores of data without groups, a table for each dataset."""
    for table in tables:
        yield ""
        yield plain_text(f"{table.dataset}  no groups: mean score and its interval")
        lines = [
            (*key, table.text(line), table.interval(line)) for key, line in table.lines.items()
        ]
        yield table_of(("model", "method", "metric", "mean", coverage(confidence)), lines)


def verdicts_of(
    rows: Rows, threshold: float, confidence: float, alpha: float = DEFAULTS.alpha
) -> Iterator[RenderableType]:
    """Yield the counts of verdicts, the verdict of each cell, and the meaning of the verdicts.

    Of three groups or more, lines on all of them precede the pairs.
    """
    judged = [row for row in rows if row["stands"] and not is_random(row)]
    if not judged:
        return
    n_seeds, run = max(row["n_seeds"] for row in judged), run_of(judged)
    for counted in counts_of(rows):
        words = [
            f"{n} {verdict_of(id).label.lower()}"
            for id, n in counted.by_verdict.items()
            if counted.n_seeds > 1 or verdict_of(id).sentence_of_one
        ]
        words += [f"{counted.untested} not tested"] if counted.untested else []
        yield plain_text(
            f"{QUANTITIES[counted.quantity]}: decided {counted.decided} of {counted.total} "
            f"cells (strict: {counted.strict}): {', '.join(words)}"
        )
    for line in lines_over_all_groups(judged, alpha):
        yield plain_text(line)
    cells = by_cell_and_quantity(row for row in rows if not is_random(row))
    for (dataset, a, b), of_table in by_table(judged).items():
        yield ""
        sure = certainty(of_table, threshold)
        yield plain_text(f"{dataset}  d of {a} − {b}{'; ' * bool(sure)}{sure}")
        lines, methods = [], defaultdict[tuple[str, str, str], list[str]](list)
        for row in of_table:
            cell = cells[tuple(row[id] for id in CELL_IDS)]
            gaps = [cell.get(name, {}).get("d", math.nan) for name in reversed(STANDING)]
            lines.append(
                (
                    *(row[kind] for kind in _KINDS[1:]),
                    *("–" if d != d else signed(d) for d in gaps),
                    *_judged(row),
                )
            )
            if sentence := only_certainty(cell, threshold):
                methods[row["model"], row["metric"], sentence].append(row["method"])
        heads = (*_KINDS[1:], *reversed(STANDING), f"R, {coverage(confidence)}", "verdict")
        yield table_of(heads, lines)
        yield from map(plain_text, _beside(of_table))
        for (model, metric, sentence), of in methods.items():
            yield plain_text(f"{model}, {metric} of {', '.join(of)}: {sentence}")
    yield ""
    yield plain_text(
        f"score, excess, skill: d of each, averaged over all {run}s. The verdict and R are those "
        "of skill, else of the excess over random explanations, else of scores. R: typical |d| of "
        f"one {run}. ±: {run}s of opposite sign."
    )
    used = {verdict_of(row["verdict"]).label for row in judged if row["verdict"]}
    said = legend(threshold=threshold, of_one=n_seeds < 2, run=run)
    yield from (plain_text(f"{label}: {said[label]}") for label in said if label in used)
    of_methods = [row for row in judged if not is_random(row)]
    compared = [row for row in judged if row["headline"]]
    last = [nothing_found(compared, one_training=n_seeds < 2), *untested_sentences(of_methods)]
    last += [missed_line(n_seeds, run)]
    yield from (plain_text(sentence) for sentence in last if sentence)


def _beside(rows: Rows) -> Iterator[str]:
    """Yield ceilings, and verdicts that are others among rightly predicted texts."""
    ceilings = {(row["model"], row["metric"]): ceiling_line(row) for row in rows}
    for (model, metric), line in ceilings.items():
        if line:
            yield f"{model}, {metric}: {line}"
    for row in rows:
        line = right_line(row)
        if line and row["verdict"] and row["verdict_right"] != row["verdict"]:
            yield f"{row['model']}, {row['method']}, {row['metric']}. {line}"


def _judged(row: Mapping[str, Any]) -> tuple[str, str]:
    """Return the interval of R and the verdict of a cell, or why it was not tested."""
    low, high = row["rms_low"], row["rms_high"]
    interval = "–" if high != high else f"{low:.2f} to {high:.2f}".replace("inf", "∞")
    words = [row["verdict"] or untested_text(row)]
    if row["verdict"] and verdict_of(row["verdict"]).favours and (favoured := favoured_group(row)):
        words = [f"{row['verdict']}:", favoured]
    return interval, " ".join(words) + "±" * bool(row["seeds_above"] and row["seeds_below"])


def terminal_here() -> Console:
    """Return standard output as a console, with unlimited width if it is no terminal."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=10_000)


def write(console: Console, parts: Iterable[RenderableType]) -> None:
    """Write parts to standard output, without blanks at the ends of lines."""
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    # Not by rich, so that a reader that stops early is treated as by other commands.
    lines = captured.get().splitlines()
    sys.stdout.write("\n".join(line.rstrip() for line in lines) + "\n")


def table_of(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> Table:
    """Return a table of text, without lines."""
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for name in heads:
        table.add_column(name, overflow="fold")
    for line in lines:
        table.add_row(*map(plain_text, line))
    return table


def plain_text(words: str) -> Text:
    """Return plain text, in which neither markup nor control characters have an effect."""
    return Text(visible(words))
