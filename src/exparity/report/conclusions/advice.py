"""What next, and what not to say? Steps that the results themselves suggest."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from statistics import median
from typing import NamedTuple

from exparity.core.formats import in_sentence, joined
from exparity.core.grouping import grouped
from exparity.report.cautions import (
    DEPENDENT,
    INSEPARABLE,
    strongest_dependence,
    unreliable_sentences,
)
from exparity.report.conclusions.answer import Answer
from exparity.report.conclusions.classifiers import Service, services_of
from exparity.report.context import Context
from exparity.report.gather import Study
from exparity.report.preference import favoured_group, other_group
from exparity.report.rows import JudgedCell, VerdictRow
from exparity.report.verdicts import (
    any_tested,
    detectable,
    effect_size,
    is_decided,
    is_gap,
    names_favoured,
    needed,
    untested_changes,
    untested_sentences,
)

_FIRST = 3
"""Most steps that come first."""


class PartlyExplained(NamedTuple):
    """A dataset with predicted texts that are not explained."""

    dataset: str
    least: int  # explained texts of the method that has fewest
    most: int
    predicted: int

    @property
    def words(self) -> str:
        """How many are explained, in words."""
        span = "–".join(f"{n:,}" for n in sorted({self.least, self.most}))
        return f"of {self.predicted:,} predicted texts {span} are explained"


def partly_explained(context: Context) -> Iterator[PartlyExplained]:
    """Yield the datasets with predicted texts that are not explained."""
    predicted = {a.overall.dataset: a.overall.n for a in context.study.accuracies}
    explained = defaultdict(list)
    for origin in context.origins:
        if origin.artefact == "explanations":
            explained[origin.dataset].append(origin.n_rows)
    for dataset, sizes in explained.items():
        if min(sizes) < predicted[dataset]:
            yield PartlyExplained(dataset, min(sizes), max(sizes), predicted[dataset])


def next_steps(context: Context) -> Answer:
    """Answer what to do next, first what limits all else; then what the results do not show."""
    study = context.study
    standing = study.standing
    partly = list(partly_explained(context))
    remedies: Sequence[str] = context.found_by("remedies").get("sentences", ())
    steps = [*_steps(study, standing, partly, remedies)]
    if not standing:
        steps.append("Name methods and metrics in the config, so that something is explained.")
    elif not steps and all(row.verdict for row in standing):
        steps.append("Nothing, for these groups and texts; check again after each training.")
    not_to_say = " ".join(_not_shown(study, standing))
    first = " ".join(filter(None, (*steps[:_FIRST], not_to_say)))
    return Answer(first, steps[_FIRST:])


def _steps(
    study: Study,
    standing: Sequence[VerdictRow],
    partly: Sequence[PartlyExplained],
    remedies: Sequence[str],
) -> Iterator[str]:
    """Yield what to do next."""
    if unreliable_sentences(study):
        yield "Improve the classifier first: explanations of one that guesses show little."
    else:
        yield from _about_service(study)
    if not any_tested(standing):
        yield from untested_changes(standing)
    yield from _about_labels(study)
    yield from remedies
    largest = _largest_gap(standing)
    if largest is not None:
        again = (
            " If the classifier can be trained again, do so several times: a difference that stays "
            "belongs to the model."
        )
        yield (
            f"Read explanations of {other_group(largest)} texts in the section Explanations."
            f"{again if study.one_training else ''}"
        )
    yield from _about_open_cells(study, standing, partly)


def _about_service(study: Study) -> Iterator[str]:
    """Yield for whom to improve the classifier, with the dataset if there are several."""
    services = services_of(study)
    datasets = {service.dataset for service in services}
    worse = grouped(
        (service for service in services if service.differs), lambda service: service.least_served
    )
    if worse:
        groups = [
            f"{group} texts" + f" of {joined(_datasets_of(served))}" * (len(datasets) > 1)
            for group, served in worse.items()
        ]
        yield f"Improve the classifier for {joined(groups)}."


def _datasets_of(services: Sequence[Service]) -> list[str]:
    return list(dict.fromkeys(service.dataset for service in services))


def _about_labels(study: Study) -> Iterator[str]:
    """Yield what to compare where label and group go together, with datasets if there are more."""
    dependence = strongest_dependence(study)
    inseparable = [name for name, strength in dependence.items() if strength >= INSEPARABLE]
    dependent = [
        name for name, strength in dependence.items() if DEPENDENT <= strength < INSEPARABLE
    ]
    if inseparable:
        names = _some_of(study, inseparable)
        than = f" than those of {names}" if names else ""
        yield f"Compare on other texts{than}, in which every class has texts of each group."
    if dependent:
        names = _some_of(study, dependent)
        where = f" on {names}" if names else ""
        yield (
            f"Compare within classes{where}, since label and group go together: a click on a "
            "result in the section Disparity shows the difference at equal class."
        )


def _some_of(study: Study, datasets: Sequence[str]) -> str:
    """Return the names of some datasets; nothing where they are all."""
    if len(datasets) == len(study.dependence):
        return ""
    return joined([study.display("dataset", name) for name in datasets])


def _largest_gap(standing: Sequence[VerdictRow]) -> VerdictRow | None:
    """Return the row of the largest gap that favours a group, headlines before others."""
    sided = [
        row for row in standing if is_gap(row) and names_favoured(row) and not row.is_description
    ]
    return max(sided, key=lambda row: (row.headline, effect_size(row)), default=None)


def _about_open_cells(
    study: Study, standing: Sequence[VerdictRow], partly: Sequence[PartlyExplained]
) -> Iterator[str]:
    """Yield what cells without a decision need: the texts that were left out, then others."""
    judged = [row for row in standing if row.verdict]
    undecided = [row for row in judged if not is_decided(row.verdict)]
    if undecided or len(judged) < len(standing):
        for words, datasets in grouped(partly, lambda dataset: dataset.words).items():
            names = joined([study.display("dataset", part.dataset) for part in datasets])
            yield (
                f"Explain the texts of {names} that were left out: {words}. "
                "Raise max_examples; in an audit, leave out --quick."
            )
    if judged:
        yield from untested_sentences(standing)
    if undecided:
        yield _more_of(study, undecided, len(judged), is_partly=bool(partly))


def _more_of(
    study: Study, undecided: Sequence[VerdictRow], n_judged: int, *, is_partly: bool
) -> str:
    """Return whether more texts or more trainings would decide most of the open cells."""
    needs = Counter(map(needed, undecided))
    what = "trainings" if needs["trainings"] > needs["texts"] else "texts"
    still = "still " if is_partly and what == "texts" else ""
    kind = f"{study.run}s" if what == "trainings" else "texts"
    twice = [
        row.detectable_with_twice_the_trainings
        if what == "trainings"
        else row.detectable_with_twice_the_texts
        for row in undecided
    ]
    detectable_gaps = [least for least in twice if not math.isnan(least)]
    shown = ""
    if study.one_training:
        least = detectable(undecided)
        if least == least:
            shown = f"; half of them could only show differences above {_sizes(least)}"
    elif detectable_gaps:
        size = _sizes(median(detectable_gaps))
        shown = f"; with twice as many, half of these would show a difference of {size}"
    return f"Take {still}more {kind}: {len(undecided)} of {n_judged} results are open{shown}."


def _sizes(d: float) -> str:
    return f"{d:.2g} standard deviations"


def _places(study: Study, rows: Sequence[VerdictRow]) -> str:
    """Return by which metrics and with which method, or in how many results of many."""
    names = joined([*map(in_sentence, study.metric_names(rows))])
    if len(rows) > 1:
        return f"by {names}, in {len(rows)} results"
    (row,) = rows
    method = study.display("method", row.method)
    return f"by {names} with {method} on {study.place(row.dataset, row.model)},"


def _is_standing_gap(cell: JudgedCell) -> bool:
    """Return whether the verdict that counts for a cell is a gap."""
    return cell.standing is not None and is_gap(cell.standing)


def _not_shown(study: Study, standing: Sequence[VerdictRow]) -> Iterator[str]:
    """Yield what the results do not show, though they may seem to."""
    alone = [
        cell.score
        for cell in study.verdicts.values()
        if cell.score is not None
        and is_gap(cell.score)
        and not cell.score.is_description
        and not _is_standing_gap(cell)
    ]
    favoured = {group for row in alone if (group := favoured_group(row))}
    if favoured:
        cells = [row for row in alone if favoured_group(row)]
        whose = f"{next(iter(favoured))} texts" if len(favoured) == 1 else "texts of one group"
        yield (
            f"Do not say that {whose} are explained better because their scores are better: "
            f"{_places(study, cells)} no difference of the explanations is shown."
        )
    concentrated = [row for row in standing if row.is_description and is_gap(row)]
    if concentrated:
        yield "Do not call more concentrated explanations better."
