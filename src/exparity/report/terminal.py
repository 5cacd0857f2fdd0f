"""Results on a terminal: a row for each verdict or mean, and the meaning of the verdicts."""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from exparity.core.escaping import visible
from exparity.core.formats import coverage, signed
from exparity.core.settings import DEFAULTS
from exparity.report.means import MeanTable
from exparity.report.over_groups import lines_over_all_groups
from exparity.report.preference import favoured_group
from exparity.report.rows import JudgedCell, VerdictRow, Verdicts, cells_of
from exparity.report.tables import by_pair
from exparity.report.verdicts import (
    QUANTITIES,
    ceiling_line,
    certainty,
    counts_of,
    judgement_of,
    legend,
    missed_line,
    nothing_found,
    only_certainty,
    rests_on_one_training,
    right_line,
    run_of,
    untested_sentences,
    untested_text,
    verdict_of,
)
from exparity.stats.multiplicity import CELL_IDS
from exparity.stats.verdicts import STANDING

_GAP = 2  # blanks between columns
_CELL_OF = attrgetter(*CELL_IDS)
_KINDS = ("dataset", "model", "method", "metric")


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
    rows: Sequence[VerdictRow],
    threshold: float,
    confidence: float,
    alpha: float = DEFAULTS.alpha,
) -> Iterator[RenderableType]:
    """Yield the counts of verdicts, the verdict of each cell, and the meaning of the verdicts.

    Of three groups or more, lines on all of them precede the pairs.
    """
    judged = [row for row in rows if row.stands and not row.is_random]
    if not judged:
        return
    yield from map(plain_text, _counts(rows))
    yield from map(plain_text, lines_over_all_groups(judged, alpha))
    cells = cells_of(rows)
    for (dataset, a, b), members in by_pair(judged).items():
        yield ""
        sure = certainty(members)
        yield plain_text(f"{dataset}  gap (Cohen's d) of {a} − {b}{'; ' * bool(sure)}{sure}")
        lines = [_cell_line(row, cells[_CELL_OF(row)]) for row in members]
        heads = (*_KINDS[1:], *reversed(STANDING), f"R, {coverage(confidence)}", "verdict")
        yield table_of(heads, lines)
        yield from map(plain_text, _beside(members))
        yield from map(plain_text, _about_certainty(members, cells))
    yield ""
    yield from map(plain_text, _meanings(judged, threshold))


def _counts(rows: Sequence[VerdictRow]) -> Iterator[str]:
    """Yield the counts of verdicts, a line for each quantity."""
    for counted in counts_of(rows):
        words = [
            f"{n} {verdict_of(verdict).label.lower()}"
            for verdict, n in counted.by_verdict.items()
            if counted.n_seeds > 1 or verdict_of(verdict).sentence_of_one
        ]
        words += [f"{counted.untested} not tested"] if counted.untested else []
        yield (
            f"{QUANTITIES[counted.quantity]}: decided {counted.decided} of {counted.total} "
            f"comparisons (strict: {counted.strict}): {', '.join(words)}"
        )


def _cell_line(row: VerdictRow, cell: JudgedCell) -> tuple[str, ...]:
    """Return the line of a cell: ids, d by quantity, interval of R and verdict."""
    gaps = [cell.rows[name].d if name in cell.rows else math.nan for name in reversed(STANDING)]
    return (
        row.model,
        row.method,
        row.metric,
        *("–" if d != d else signed(d) for d in gaps),
        *_judged(row),
    )


def _about_certainty(rows: Sequence[VerdictRow], cells: Verdicts) -> Iterator[str]:
    """Yield why scores differ where skill does not, each reason with its methods."""
    methods = defaultdict[tuple[str, str, str], list[str]](list)
    for row in rows:
        sentence = only_certainty(cells[_CELL_OF(row)])
        if sentence:
            methods[row.model, row.metric, sentence].append(row.method)
    for (model, metric, sentence), names in methods.items():
        yield f"{model}, {metric} of {', '.join(names)}: {sentence}"


def _meanings(judged: Sequence[VerdictRow], threshold: float) -> Iterator[str]:
    """Yield what columns and verdicts mean, and what is not shown."""
    n_seeds = max(row.n_seeds for row in judged)
    run = run_of(judged)
    starred = ""
    if any(map(rests_on_one_training, judged)):
        starred = f" *: would be decided, but the gap rests on a single {run}."
    yield (
        f"score, excess, skill: d of each, averaged over all {run}s. The verdict and R are those "
        "of skill, else of the excess over random explanations, else of scores. R: typical |d| of "
        f"one {run}. ±: {run}s of opposite sign.{starred}"
    )
    used = {verdict_of(row.verdict).label for row in judged if row.verdict}
    meanings = legend(threshold=threshold, single=n_seeds < 2, run=run)
    yield from (f"{label}: {meanings[label]}" for label in meanings if label in used)
    headline = [row for row in judged if row.headline]
    sentences = [nothing_found(headline, one_training=n_seeds < 2), *untested_sentences(judged)]
    yield from filter(None, (*sentences, missed_line(n_seeds, run)))


def _beside(rows: Sequence[VerdictRow]) -> Iterator[str]:
    """Yield ceilings, and verdicts that are others among rightly predicted texts."""
    ceilings = {(row.model, row.metric): ceiling_line(row) for row in rows}
    for (model, metric), line in ceilings.items():
        if line:
            yield f"{model}, {metric}: {line}"
    for row in rows:
        line = right_line(row)
        if line and row.verdict and row.verdict_right != row.verdict:
            yield f"{row.model}, {row.method}, {row.metric}. {line}"


def _judged(row: VerdictRow) -> tuple[str, str]:
    """Return the interval of R and the verdict of a cell, or why it was not tested."""
    interval = f"{row.rms_low:.2f} to {row.rms_high:.2f}".replace("inf", "∞")
    judgement = judgement_of(row)
    words = untested_text(row)
    if judgement is not None:
        favoured = favoured_group(row) if judgement.favours else None
        words = f"{judgement.id}: {favoured}" if favoured else judgement.id
    is_mixed = bool(row.seeds_above and row.seeds_below)
    signs = "±" * is_mixed + "*" * rests_on_one_training(row)
    return "–" if math.isnan(row.rms_high) else interval, words + signs


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
