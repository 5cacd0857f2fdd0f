"""Findings in words: cautions first, then the largest consistent gaps.

A gap is named where the verdict of a cell counts as one: that of its skill, else of its excess over
random explanations, else of its scores.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from exparity.core.grouping import grouped
from exparity.report.cautions import dependence_sentences, finding_cautions, small_samples
from exparity.report.conclusions import conclusions_of, in_lines
from exparity.report.context import Context
from exparity.report.gather import Study
from exparity.report.picture import is_controlled
from exparity.report.preference import (
    favoured_group,
    other_group,
    preference_of,
)
from exparity.report.tables import Row, Table
from exparity.report.verdicts import (
    counts_of,
    effect_size,
    is_foreseen,
    is_gap,
    moved,
    nothing_found,
    only_certainty,
    sentence_of,
    untested_sentences,
    verdict_of,
)
from exparity.stats.verdicts import RANKS, rank_of

_BY_CONTROL = ", by skill, else in excess over random explanations"
_BY_FORESIGHT = ", by forward simulation"
_DECIDED = {
    "headline": "Decided",
    "beside": "By other metrics, decided",
    "description": "Concentration, decided",
}
"""Beginnings of the lines on how many cells are decided."""
_MOST = 6
"""Gaps, and classifiers, that are put into words; the tables have all."""


@dataclass(frozen=True)
class Finding:
    """The gaps of one metric between two groups, over all methods.

    ``size`` is the mean over the methods, 0 where there is no gap; gaps of opposite sides cancel.
    """

    metric: str
    kind: str
    sentence: str  # after the name of the metric
    size: float
    rank: str  # which of the counts of cells its gaps are in


def findings_of(study: Study, tables: Sequence[Table]) -> list[Finding]:
    """Return the gaps by dataset, pair of groups, model and metric, largest first.

    Gaps of the metrics that come first precede the others, and descriptions are last.
    """
    findings = []
    for table in tables:
        cells = grouped(table.judged, itemgetter("model", "metric"))
        for (_, metric), rows in cells.items():
            gaps = [row for row in rows if is_gap(row)]
            if not gaps:
                continue
            gaps.sort(key=lambda row: -effect_size(row))
            sided = sum(math.copysign(effect_size(row), row["d"]) for row in gaps if _better(row))
            unsided = sum(effect_size(row) for row in gaps if not _better(row))
            name, kind = study.display("metric", metric), study.metric_facts(metric).kind
            sentence, size = _sentence(study, gaps, len(rows)), max(abs(sided), unsided) / len(rows)
            findings.append(Finding(name, kind, sentence, size, rank_of(gaps[0])))
    return sorted(findings, key=lambda finding: (RANKS.index(finding.rank), -finding.size))


def _better(row: Row) -> str | None:
    """Return the group that a verdict names; None where that changes by training."""
    return favoured_group(row) if verdict_of(row["verdict"]).favours else None


def _sentence(study: Study, gaps: Sequence[Row], n_methods: int) -> str:
    """Return the sentence on the gaps of a metric, given from the largest to the smallest."""
    largest = gaps[0]
    better = preference_of(largest).metric
    of = f"of {n_methods} method{'s' if n_methods != 1 else ''}"
    sides = Counter(map(_better, gaps))
    unstable = sides.pop(None, 0)
    changes = f"the favoured group changes from {study.run} to {study.run}"
    if not sides:
        how = f"differs with {unstable} {of}, and {changes}"
    elif len(sides) == 1 and not unstable:
        how = f"{better} for {favoured_group(largest)} than for {other_group(largest)} with "
        how += f"{len(gaps)} {of}"
    else:
        how = " and ".join(f"for {group} with {n}" for group, n in sides.items())
        how = f"{better} {how} {of}" + (f"; with {unstable}, {changes}" if unstable else "")
    if len(study.pairs) > 1:
        how += f"; {largest['model']} on {study.display('dataset', largest['dataset'])}"
    sentence = sentence_of(largest, study.statistics["threshold"])
    method = study.display("method", largest["method"])
    return f"{how}. The largest gap is that of {method}: {sentence}"


def finding_words(study: Study, tables: Sequence[Table]) -> dict[str, Any]:
    """Return the variables of the findings' template."""
    every = findings_of(study, tables)
    cells = [cell for table in tables for cell in table.cells.values()]
    rows = [cell.standing for cell in cells if cell.verdicts]
    compared = [row for row in rows if row["headline"]]
    return {
        "untested_sentences": untested_sentences(rows),
        "most": _MOST,
        "findings": every[:_MOST],
        "more_findings": len(every) - _MOST,
        "cautions": finding_cautions(study, tables),
        "nothing_found": nothing_found(compared, one_training=study.one_training),
        "controlled": is_controlled(study),
        "certainty_alone": certainty_sentences(study, tables),
    }


def certainty_sentences(study: Study, tables: Sequence[Table]) -> list[str]:
    """Return a sentence for each metric whose scores or excess differ but whose skill does not."""
    methods_of: dict[str, list[str]] = defaultdict(list)
    for table in tables:
        name = study.display("dataset", table.dataset)
        if len(study.declared(table.dataset).groups) > 2:
            name += f", {table.group_a} − {table.group_b}"
        for (model, method, metric), cell in table.cells.items():
            sentence = only_certainty(cell.verdicts, study.statistics["threshold"])
            if sentence:
                of = f"{study.display('metric', metric)}, {model} on {name}. {sentence}"
                methods_of[of].append(f"{study.display('method', method)}: {moved(cell.verdicts)}")
    return [f"{of} {'; '.join(methods)}." for of, methods in methods_of.items()]


def in_plain_words(context: Context) -> Iterator[str]:
    """Yield the beginning of the page as lines of text: the five answers, cautions and counts."""
    study, tables = context.study, context.tables
    yield from in_lines(conclusions_of(context))
    for sentence in [*dependence_sentences(study), *small_samples(study, tables)]:
        yield f"Caution: {sentence}"
    rows = [cell.standing for table in tables for cell in table.cells.values() if cell.standing]
    by_control = _BY_CONTROL if is_controlled(study) else ""
    by = {"headline": _BY_FORESIGHT if is_foreseen(rows) else by_control, "beside": by_control}
    for counts in counts_of(rows):
        if counts.quantity not in _DECIDED:
            continue
        several = {id: n for id, n in counts.by_verdict.items() if n}
        several |= {"not tested": counts.untested} if counts.untested else {}
        yield (
            f"{_DECIDED[counts.quantity]}: "
            f"{counts.decided:,} of {counts.total:,} comparisons{by.get(counts.quantity, '')}"
            f" ({', '.join(f'{n:,} {id}' for id, n in several.items())})."
        )
