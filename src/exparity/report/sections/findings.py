"""Findings in words: cautions first, then the largest consistent gaps.

A gap is named where the verdict of a cell counts as one: that of its skill, else of its excess over
random explanations, else of its scores.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from exparity.core.formats import percent
from exparity.core.grouping import grouped
from exparity.report.gather import Study
from exparity.report.picture import is_controlled, listed
from exparity.report.preference import (
    favoured_group,
    other_group,
    preference_of,
)
from exparity.report.tables import Row, Table, by_dataset
from exparity.report.verdicts import (
    counts_of,
    detectable,
    effect_size,
    is_decided,
    is_foreseen,
    moved,
    named,
    nothing_found,
    only_certainty,
    sentence_of,
    untested_sentences,
)
from exparity.stats.verdicts import RANKS, rank_of

_BY_CONTROL = ", by skill, else in excess over random explanations"
_BY_FORESIGHT = ", by forward simulation"
INSEPARABLE, DEPENDENT = 0.99, 0.3
"""Cramér's V of label and group from which readers are warned."""
_LARGE = 0.8
"""|d| that a sample must be able to show; a large effect (Cohen 1988, §2.2)."""
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
            gaps = [row for row in rows if named(row["verdict"]).is_gap]
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
    return favoured_group(row) if named(row["verdict"]).favours else None


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


def unreliable_sentences(study: Study) -> list[str]:
    """Return sentences on classifiers that predict one class or are no better than a guess."""
    return [*collapsed_sentences(study), *_guessing(study)]


def finding_cautions(study: Study, tables: Sequence[Table]) -> list[str]:
    """Return the cautions about data, classifiers and sample sizes that precede the gaps."""
    return [*dependence_sentences(study), *unreliable_sentences(study), *_small(study, tables)]


def collapsed_sentences(study: Study) -> Iterator[str]:
    """Yield a sentence per dataset with classifiers that predict one class."""
    collapsed = [a.whole for a in study.accuracies if a.collapsed]
    for dataset, of_dataset in grouped(collapsed, itemgetter("dataset")).items():
        names = []
        for model, of_model in grouped(of_dataset, itemgetter("model")).items():
            seeds = ", ".join(map(str, sorted(row["seed"] for row in of_model)))
            names.append(f"{model} (seed{'s' if len(of_model) > 1 else ''} {seeds})")
        yield (
            f"On {dataset}, these classifiers predict one class for every test example, and their "
            f"explanations are not counted: {', '.join(names)}."
        )


def strongest_dependence(study: Study) -> dict[str, float]:
    """Return the largest Cramér's V of label and group among each dataset's splits, 0 if none."""
    return {
        dataset: max((v for v in by_split.values() if v == v), default=0.0)
        for dataset, by_split in study.dependence.items()
    }


def dependence_sentences(study: Study) -> list[str]:
    """Return a sentence per dataset whose label and group go together, the worst first."""
    sentences = []
    for dataset, largest in strongest_dependence(study).items():
        if largest < DEPENDENT:
            continue
        numbers = numbers_of(study.dependence[dataset])
        apart = "cannot be told apart" if largest >= INSEPARABLE else "go together"
        name = study.display("dataset", dataset)
        sentences.append(
            (
                -largest,
                f"On {name}, label and group {apart}: Cramér's V is {numbers}. A gap between "
                f"{listed(study.declared(dataset).groups, 'groups')} may be one between classes.",
            )
        )
    return [sentence for _, sentence in sorted(sentences)]


def numbers_of(by_split: Mapping[str, float]) -> str:
    """Return Cramér's V of each split in words."""
    values = {split: f"{v:.2f}" for split, v in by_split.items()}
    if len(values) == 1:
        return next(iter(values.values()))
    if len(set(values.values())) == 1:
        return f"{next(iter(values.values()))} in {' and '.join(values)}"
    return ", ".join(f"{value} in {split}" for split, value in values.items())


def _guessing(study: Study) -> Iterator[str]:
    """Yield a sentence for each classifier that is right no more often than a guess."""
    for a in study.accuracies:
        dataset, share = a.whole["dataset"], a.whole["value"]
        if share <= 1 / len(study.declared(dataset).classes) and not a.collapsed:
            yield (
                f"On {study.display('dataset', dataset)}, {a.whole['model']} (seed "
                f"{a.whole['seed']}) is right for {percent(share)} of the texts, no more than a "
                "guess would be. Was it trained for these classes, in this order?"
            )


def _small(study: Study, tables: Sequence[Table]) -> Iterator[str]:
    """Yield sentences about comparisons of too few texts: one per dataset and kind."""
    trainings = "" if study.one_training else " or trainings"
    for dataset, pairs in by_dataset(tables).items():
        hopeless, large = [], []
        for table in pairs:
            judged = table.judged
            flags = {flag for cell in table.cells.values() for flag in cell.flags}
            if flags & {"cannot_pass", "too_few"}:
                hopeless.append(table)
            elif detectable(judged) > _LARGE and not any(is_decided(r["verdict"]) for r in judged):
                large.append(table)
        for chosen, sentence in (
            (hopeless, "some comparisons have too few texts for any gap to be significant."),
            (large, f"so few texts{trainings} can show only gaps above |d| = {_LARGE}."),
        ):
            if chosen:
                yield f"{_pairs(chosen, pairs)} of {study.display('dataset', dataset)}: {sentence}"


def _pairs(chosen: Sequence[Table], pairs: Sequence[Table]) -> str:
    """Return the names of a pair of groups, or the number of pairs."""
    if len(chosen) == 1:
        return f"{chosen[0].group_a} and {chosen[0].group_b}"
    some = "All" if len(chosen) == len(pairs) else f"{len(chosen)} of"
    return f"{some} {len(pairs)} pairs of groups"


def _audited(study: Study) -> Iterator[str]:
    """Yield the number of texts and the accuracy of each classifier by group."""
    for whole, by_group in study.accuracies:
        groups = (
            f"{group}: {percent(row['value'])} of {row['n']:,}" for group, row in by_group.items()
        )
        yield (
            f"{whole['model']} is right for {percent(whole['value'])} of the {whole['n']:,} texts "
            f"of {study.display('dataset', whole['dataset'])} ({'; '.join(groups)})."
        )


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
        "audited": list(_audited(study)) if study.one_training else [],
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


def in_plain_words(study: Study, tables: Sequence[Table]) -> Iterator[str]:
    """Yield the beginning of the page as lines of text: cautions, counts and the largest gaps."""
    words = finding_words(study, tables)
    for sentence in words["cautions"]:
        yield f"Caution: {sentence}"
    cells = [cell for table in tables for cell in table.cells.values()]
    rows = [cell.standing for cell in cells if cell.standing]
    by_control = _BY_CONTROL if words["controlled"] else ""
    by = {"headline": _BY_FORESIGHT if is_foreseen(rows) else by_control, "beside": by_control}
    for counts in counts_of(rows):
        if counts.quantity not in _DECIDED:
            continue
        several = {id: n for id, n in counts.by_verdict.items() if n}
        several |= {"not tested": counts.untested} if counts.untested else {}
        yield (
            f"{_DECIDED[counts.quantity]}: "
            f"{counts.decided:,} of {counts.total:,} cells{by.get(counts.quantity, '')}"
            f" ({', '.join(f'{n:,} {id}' for id, n in several.items())})."
        )
    for finding in words["findings"]:
        yield f"{finding.metric} {finding.sentence}"
    if words["more_findings"] > 0:
        yield f"{words['more_findings']} more gaps are smaller."
    yield from words["certainty_alone"]
    if words["nothing_found"]:
        yield words["nothing_found"]
    yield from words["untested_sentences"]
