"""Cautions about data, classifiers and sample sizes, which precede all conclusions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter

from exparity.core.formats import percent
from exparity.core.grouping import grouped
from exparity.report.gather import Study
from exparity.report.picture import listed
from exparity.report.tables import Table, by_dataset
from exparity.report.verdicts import detectable, is_decided

INSEPARABLE = 0.99
DEPENDENT = 0.3
"""Cramér's V of label and group from which readers are warned."""
_LARGE = 0.8
"""|d| that a sample must be able to show; a large effect (Cohen 1988, §2.2)."""


def unreliable_sentences(study: Study) -> list[str]:
    """Return sentences on classifiers that predict one class or are no better than a guess."""
    return [*collapsed_sentences(study), *_guessing(study)]


def finding_cautions(study: Study, tables: Sequence[Table]) -> list[str]:
    """Return the cautions about data, classifiers and sample sizes that precede the gaps."""
    return [
        *dependence_sentences(study),
        *unreliable_sentences(study),
        *small_samples(study, tables),
    ]


def collapsed_sentences(study: Study) -> Iterator[str]:
    """Yield a sentence per dataset with classifiers that predict one class."""
    collapsed = [a.overall for a in study.accuracies if a.collapsed]
    for dataset, classifiers in grouped(collapsed, attrgetter("dataset")).items():
        names = []
        for model, trainings in grouped(classifiers, attrgetter("model")).items():
            seeds = ", ".join(map(str, sorted(training.seed for training in trainings)))
            which = f" (training{'s' if len(trainings) > 1 else ''} {seeds})"
            names.append(f"{model}{'' if study.one_training else which}")
        predicting = "these classifiers predict"
        whose = "their"
        if len(classifiers) == 1:
            predicting = "this classifier predicts"
            whose = "its"
        yield (
            f"On {dataset}, {predicting} one class for every test example, and {whose} "
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
                f"On {name}, label and group {apart} (0 independent, 1 the same: {numbers}). A "
                f"difference between {listed(study.declared(dataset).groups, 'groups')} may be one "
                "between classes.",
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
    check = "Was it trained for these classes, in this order?"
    if study.run == "prompt":
        check = "Does the prompt ask for these classes?"
    for accuracy in study.accuracies:
        overall = accuracy.overall
        n_classes = len(study.declared(overall.dataset).classes)
        if overall.value <= 1 / n_classes and not accuracy.collapsed:
            yield (
                f"On {study.display('dataset', overall.dataset)}, {overall.model} ({study.run} "
                f"{overall.seed}) is right for {percent(overall.value)} of the texts, no more than "
                f"a guess would be. {check}"
            )


def small_samples(study: Study, tables: Sequence[Table]) -> Iterator[str]:
    """Yield sentences about comparisons of too few texts: one per dataset and kind."""
    trainings = "" if study.one_training else " or trainings"
    least = f"{_LARGE} standard deviations"
    for dataset, pairs in by_dataset(tables).items():
        hopeless: list[Table] = []
        large: list[Table] = []
        for table in pairs:
            judged = table.judged
            flags = {flag for cell in table.cells.values() for flag in cell.flags}
            if flags & {"cannot_pass", "too_few"}:
                hopeless.append(table)
            elif detectable(judged) > _LARGE and not any(is_decided(row.verdict) for row in judged):
                large.append(table)
        for chosen, sentence in (
            (hopeless, "too few texts to show any difference, in some results."),
            (
                large,
                f"so few texts{trainings} show no difference below {least}.",
            ),
        ):
            if chosen:
                yield f"{_pairs(chosen, pairs)} of {study.display('dataset', dataset)}: {sentence}"


def _pairs(chosen: Sequence[Table], pairs: Sequence[Table]) -> str:
    """Return the names of a pair of groups, or the number of pairs."""
    if len(chosen) == 1:
        return f"{chosen[0].group_a} and {chosen[0].group_b}"
    some = "All" if len(chosen) == len(pairs) else f"{len(chosen)} of"
    return f"{some} {len(pairs)} pairs of groups"
