"""A paragraph for the methods and results of a paper, filled in with the numbers of a study."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from statistics import median

from exparity.core.formats import capitalised, in_sentence, joined, signed
from exparity.report.cautions import numbers_of
from exparity.report.gather import Study
from exparity.report.rows import VerdictRow
from exparity.report.verdicts import (
    certainty,
    counts_of,
    detectable,
    is_decided,
    is_foreseen,
    is_gap,
    is_of,
    is_open,
    labels_of,
    missed_line,
    sentence_of,
)
from exparity.stats.crossed import TRAINING
from exparity.stats.verdicts import RANKS

SUMMARY = "summary.html"
"""File of the summary, beside the page."""
_MOST_GAPS = 6
"""Gaps that are written out; of more, the tables tell."""
_BY = {
    "headline": "",
    "beside": "By the other metrics, ",
    "description": "In how concentrated explanations are, ",
}


def paragraph_of(study: Study) -> list[str]:
    """Return the sentences; none where no groups are compared."""
    if not study.standing:
        return []
    return list(filter(None, (*_methods(study), *_results(study))))


def how_measured(study: Study) -> list[str]:
    """Return the sentences on what was measured and compared; none without groups."""
    return [*_methods(study)] if study.standing else []


def _methods(study: Study) -> Iterator[str]:
    """Yield what was trained, explained, scored and tested."""
    methods = joined([study.display("method", method) for method in study.methods])
    metrics = joined([study.display("metric", metric) for metric in study.metrics])
    is_trained = study.run == TRAINING and not study.one_training
    yield (
        f"We {'trained' if is_trained else 'took'} {_classifiers(study)} and scored their "
        f"explanations by {methods} with {metrics}."
    )
    if is_foreseen(study.standing):
        yield (
            "Groups are compared first by forward simulation, the correlation of what explanations "
            "predict with what the classifier does when half of the words are left out (0: nothing "
            "is foreseen)."
        )
    draws = study.grid.controls.random.draws
    stages = study.grid.controls.reference.stages
    if draws and any(row.quantity == "skill" for row in study.standing):
        yield (
            "Other metrics are compared by skill, 0 for random explanations "
            f"({draws} a text) and 1 for those that a search in {stages} stages finds; those "
            "without a skill are compared in excess over random explanations."
        )
    family = study.statistics.family
    within = f"within each {joined(family)}" if family else "over all comparisons"
    yield (
        f"Verdicts are corrected by Benjamini and Hochberg {within} at α = "
        f"{study.statistics.alpha:g}."
    )


def _classifiers(study: Study) -> str:
    """Return the classifiers of each dataset, with the numbers of trainings and texts."""
    parts = []
    runs = (
        f"{len(study.seeds)} times" if study.run == TRAINING else f"{len(study.seeds)} {study.run}s"
    )
    for dataset, models in study.models.items():
        declared = study.declared(dataset)
        if not declared.groups:
            continue
        texts = max(a.overall.n for a in study.accuracies if a.overall.dataset == dataset)
        facts = [f"{texts:,} test texts", f"{declared.attribute}: {joined(declared.groups)}"]
        dependence = study.dependence.get(dataset, {})
        if dependence:
            facts.append(f"Cramér's V of label and group {numbers_of(dependence)}")
        times = "" if study.one_training else f", {runs},"
        name = study.display("dataset", dataset)
        parts.append(f"{joined(models)}{times} on {name} ({'; '.join(facts)})")
    return joined(parts)


def _results(study: Study) -> Iterator[str]:
    """Yield what was found, and what would not have been."""
    for dataset in study.models:
        sure = certainty(row for row in study.standing if row.dataset == dataset)
        if sure:
            yield f"On {study.display('dataset', dataset)}, {sure}."
    yield from _counts(study)
    yield "Numbers in parentheses are those of Holm's correction."
    yield from _gaps(study)
    scores = [
        cell
        for cell in study.verdicts.values()
        if cell.score is not None and is_gap(cell.score) and not cell.score.is_description
    ]
    alone = [cell for cell in scores if cell.standing is None or not is_gap(cell.standing)]
    if scores:
        yield (
            f"Raw scores differ in {len(scores)} comparisons; in {len(alone)} of these no "
            "difference of the explanations is shown."
        )
    random = [row for row in study.judged if row.stands and row.is_random]
    if random:
        n_gaps = sum(map(is_gap, random))
        yield f"Random explanations, compared with others, have a gap in {n_gaps} of {len(random)}."
    yield missed_line(len(study.seeds), study.run)


def _counts(study: Study) -> Iterator[str]:
    """Yield how many comparisons have each verdict, by what they stand on."""
    for counts in counts_of(study.standing):
        if counts.quantity not in RANKS:
            continue
        rows = [row for row in study.standing if is_of(row, counts.quantity)]
        strict = Counter(row.verdict_strict for row in rows if row.verdict)
        parts = [
            f"{n} ({strict[verdict]}) {'is' if n == 1 else 'are'} {verdict}"
            for verdict, n in counts.by_verdict.items()
            if n and is_decided(verdict)
        ]
        undecided = [row for row in rows if is_open(row)]
        open_label = labels_of("open")
        are = "is" if len(undecided) == 1 else "are"
        parts += [f"{len(undecided)} {are} {open_label}"] if undecided else []
        parts += [f"{counts.untested} not tested"] if counts.untested else []
        first = capitalised(f"{_BY[counts.quantity]}of {counts.total} comparisons ")
        sentence = f"{first}{joined(parts)}"
        least = detectable(undecided)
        if math.isfinite(least):
            sentence += f"; in half of the {open_label}, |d| = {least:.2g} would have been found"
        yield f"{sentence}."


def _gaps(study: Study) -> Iterator[str]:
    """Yield the gaps of the verdicts that come first, the largest first."""
    gaps = [row for row in study.standing if row.headline and is_gap(row)]
    gaps.sort(key=lambda row: -abs(row.d))
    for row in gaps[:_MOST_GAPS]:
        method = study.display("method", row.method)
        metric = study.display("metric", row.metric)
        place = study.place(row.dataset, row.model)
        size = _interval(row)
        sentence = sentence_of(row, study.statistics.threshold).split(". ")[0].rstrip(".")
        yield f"{method}, {metric} on {place}: {in_sentence(sentence)}{size}."
    rest = gaps[_MOST_GAPS:]
    if rest:
        sizes = signed(median(abs(row.d) for row in rest)).lstrip("+")
        yield f"{len(rest)} further gaps have a median |d| of {sizes}."


def _interval(row: VerdictRow) -> str:
    """Return the interval of R of several trainings."""
    if math.isnan(row.rms_low) or math.isinf(row.rms_high):
        return ""
    interval = f"{row.rms_low:.2f} to {row.rms_high:.2f}"
    return f"; typical gap of one {row.run} R = {row.rms_gap:.2f} ({interval})"
