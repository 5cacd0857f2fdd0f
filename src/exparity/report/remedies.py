"""Remedies in words: what serves the group better that a method serves worse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from exparity.artefacts.columns import Row, records
from exparity.core.escaping import visible
from exparity.core.formats import in_sentence, joined
from exparity.explanations.markup import number_text, number_texts
from exparity.methods import METHODS
from exparity.report.gather import Study
from exparity.stats.remedies import Remedy
from exparity.stats.verdicts import HEADLINE

JOIN = "+"
"""Between the names of two methods whose mean is meant."""
_LEAST_LOSS = 0.0005
"""Loss that is shown in three digits."""


@dataclass(frozen=True)
class Place:
    """Where a remedy was tried: ids, and what was compared."""

    dataset: str
    model: str
    metric: str
    metric_kind: str | None
    quantity: str


class Tried(NamedTuple):
    """A remedy and where it was tried."""

    on: Place
    remedy: Remedy

    @property
    def cell(self) -> tuple[str, str]:
        """Dataset and model."""
        return self.on.dataset, self.on.model

    @property
    def is_temperature(self) -> bool:
        """Whether it is of temperatures, which change no explanation."""
        return self.remedy.kind == "temperature"

    @property
    def is_trained(self) -> bool:
        """Whether the classifier is trained again."""
        return self.remedy.kind == "debiasing"

    @property
    def models(self) -> set[str]:
        """The models that it names."""
        return {self.on.model, *([self.remedy.replacement] if self.is_trained else [])}

    @property
    def methods_after(self) -> list[str]:
        """The methods that explain texts of the group afterwards."""
        if self.is_trained or self.is_temperature:
            return [self.remedy.method]
        return self.remedy.replacement.split(JOIN)

    @property
    def spares_both(self) -> bool:
        """Whether the other group has no lower level, and neither is classified worse."""
        remedy = self.remedy
        changes = (
            remedy.gap_after - remedy.gap + remedy.gain,  # of the other group's level
            remedy.accuracy_after - remedy.accuracy,
            remedy.other_accuracy_after - remedy.other_accuracy,
        )
        return all(change > -_LEAST_LOSS for change in changes)


@dataclass(frozen=True)
class RemedyLine:
    """A remedy as a table shows it.

    Attributes:
        place: dataset, and model where there are several.
        metric, method: names.
        instead: what to do, in words.
        group: the group that the method serves worst.
        levels: its level before and after, and those of the other group.
        gap: gap before and after.
        accuracy: of the group before and after.
        passes: passes of a text by the method and by the remedy.
        trains: whether the classifier is trained again.
        helps: whether it is shown to help.
    """

    place: str
    metric: str
    method: str
    instead: str
    group: str
    levels: Sequence[str]
    gap: tuple[str, str]
    accuracy: tuple[str, str]
    passes: tuple[int, int]
    trains: bool
    helps: bool


@dataclass(frozen=True)
class TemperatureLine:
    """Effect of a temperature by group, as a table shows it.

    Attributes:
        place: dataset, and model where there are several.
        metric, method: names.
        groups: the groups that it serves worst and best.
        quantity: what is compared beside scores.
        score_gap: gap of scores before and after.
        gap: gap of the quantity before and after.
    """

    place: str
    metric: str
    method: str
    groups: tuple[str, str]
    quantity: str
    score_gap: tuple[str, str]
    gap: tuple[str, str]


def tried_in(rows: Sequence[Row]) -> list[Tried]:
    """Return the rows of the artefact as records."""
    places = records(Place, rows)
    return [Tried(*pair) for pair in zip(places, records(Remedy, rows), strict=True)]


def remedy_lines(tried: Sequence[Tried], study: Study) -> list[RemedyLine]:
    """Return the remedies, those that help first, and by the level of who is worse off."""
    return [_line(part, study) for part in _in_order(tried) if not part.is_temperature]


def temperature_lines(tried: Sequence[Tried], study: Study) -> list[TemperatureLine]:
    """Return what temperatures by group do, where that is known."""
    lines = []
    for place, remedy in (part for part in tried if part.is_temperature):
        lines.append(
            TemperatureLine(
                study.place(place.dataset, place.model),
                study.name("metric", place.metric),
                study.display("method", remedy.method),
                (remedy.group, remedy.other_group),
                place.quantity,
                _before_and_after(remedy.score_gap, remedy.score_gap_after),
                _before_and_after(remedy.gap, remedy.gap_after),
            )
        )
    return lines


def remedy_sentences(tried: Sequence[Tried], study: Study) -> list[str]:
    """Return what to do, one for each dataset and model that a remedy is shown to help on.

    By forward simulation where it was tried, as verdicts are.
    """
    sentences: dict[tuple[str, str], str] = {}
    foreseen = {part.cell for part in tried if part.on.metric_kind == HEADLINE}
    for part in _in_order(tried):
        comes_first = part.on.metric_kind == HEADLINE or part.cell not in foreseen
        if part.remedy.helps and comes_first and part.cell not in sentences:
            sentences[part.cell] = _sentence(part, study)
    return list(sentences.values())


def _in_order(tried: Sequence[Tried]) -> list[Tried]:
    """Return remedies in the order of their use: those that help, the best of a metric first."""
    return sorted(tried, key=lambda part: (not part.remedy.helps, part.remedy.rank))


def _instead(tried: Tried, study: Study) -> str:
    """Return what to do in place of the method, in words."""
    if tried.is_trained:
        return f"{visible(tried.remedy.replacement)}, trained with debiasing"
    names = [study.display("method", method) for method in tried.methods_after]
    return f"the mean of {joined(names)}" if len(names) > 1 else names[0]


def _sentence(tried: Tried, study: Study) -> str:
    remedy = tried.remedy
    method = study.display("method", remedy.method)
    level, after, other, other_after = _levels(remedy)
    place = study.place(*tried.cell)
    metric = in_sentence(study.display("metric", tried.on.metric))
    direction = " (lower is better)" if remedy.level_after < remedy.level else ""
    measured = f"by {metric}{direction} on the half of the texts that did not choose it"
    if tried.is_trained:
        accuracy, accuracy_after = _accuracy(remedy)
        loses = "; neither group loses" if tried.spares_both else ""
        return (
            f"On {place}, take {_instead(tried, study)}: {remedy.group} texts {level} → {after} "
            f"with {method} ({remedy.other_group} {other} → {other_after}), {measured}, "
            f"and accuracy {accuracy} → {accuracy_after}{loses}."
        )
    return (
        f"On {place}, explain {remedy.group} texts with {_instead(tried, study)} instead of "
        f"{method}: {level} → {after} ({remedy.other_group} {other}), {measured}; nobody loses."
    )


def _before_and_after(before: float, after: float) -> tuple[str, str]:
    return number_text(before, like=before), number_text(after, like=before)


def _levels(remedy: Remedy) -> list[str]:
    """Return the levels of the group before and after, and those of the other group."""
    return number_texts(
        remedy.level, remedy.level_after, remedy.other_level, remedy.other_level_after
    )


def _accuracy(remedy: Remedy) -> tuple[str, str]:
    return f"{remedy.accuracy:.2f}", f"{remedy.accuracy_after:.2f}"


def _passes(study: Study, methods: Sequence[str]) -> int:
    return sum(METHODS.get(study.methods[method]).facts.passes for method in methods)


def _line(tried: Tried, study: Study) -> RemedyLine:
    remedy = tried.remedy
    return RemedyLine(
        study.place(*tried.cell),
        study.name("metric", tried.on.metric),
        study.display("method", remedy.method),
        _instead(tried, study),
        remedy.group,
        _levels(remedy),
        _before_and_after(remedy.gap, remedy.gap_after),
        _accuracy(remedy),
        (_passes(study, [remedy.method]), _passes(study, tried.methods_after)),
        tried.is_trained,
        remedy.helps,
    )
