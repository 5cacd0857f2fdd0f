"""Remedies in words: another method for the group that is explained worse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from exparity.artefacts.columns import Row
from exparity.core.formats import in_sentence
from exparity.explanations.markup import number_text
from exparity.methods import METHODS
from exparity.report.gather import Study
from exparity.stats.verdicts import HEADLINE


@dataclass(frozen=True)
class RemedyLine:
    """A remedy as a table shows it.

    Attributes:
        place: dataset, and model where there are several.
        metric, method, replacement: names.
        group: the group that the method serves worst.
        levels: its level before and after, and that of the other group.
        gap: gap before and after.
        passes: passes of a text by the method and by the replacement.
        helps: whether it is shown to help.
    """

    place: str
    metric: str
    method: str
    replacement: str
    group: str
    levels: tuple[str, str, str]
    gap: tuple[str, str]
    passes: tuple[int, int]
    helps: bool


def remedy_lines(rows: Sequence[Row], study: Study) -> list[RemedyLine]:
    """Return the remedies, those that help first, and the best level of the worst-off group."""
    return [_line(row, study) for row in _in_order(rows)]


def remedy_sentences(rows: Sequence[Row], study: Study) -> list[str]:
    """Return what to do, one for each dataset and model that a remedy is shown to help on.

    By forward simulation where it was tried, as verdicts are.
    """
    sentences: dict[tuple[str, str], str] = {}
    foreseen = {_cell(row) for row in rows if row["metric_kind"] == HEADLINE}
    for row in _in_order(rows):
        comes_first = row["metric_kind"] == HEADLINE or _cell(row) not in foreseen
        if row["helps"] and comes_first and _cell(row) not in sentences:
            sentences[_cell(row)] = _sentence(row, study)
    return list(sentences.values())


def _cell(row: Row) -> tuple[str, str]:
    return row["dataset"], row["model"]


def _in_order(rows: Sequence[Row]) -> list[Row]:
    """Return rows in the order of their use: those that help, and leave the least gap."""
    return sorted(rows, key=lambda row: (not row["helps"], -row["gain"]))


def _sentence(row: Row, study: Study) -> str:
    method = study.display("method", row["method"])
    replacement = study.display("method", row["replacement"])
    level, after, other = _levels(row)
    return (
        f"On {study.place(*_cell(row))}, explain {row['group']} texts with {replacement} instead "
        f"of {method}: {level} → {after} ({row['other_group']} {other}), by "
        f"{in_sentence(study.display('metric', row['metric']))} on the half of the texts that did "
        "not choose it; nobody loses."
    )


def _levels(row: Row) -> tuple[str, str, str]:
    level, after, other = (
        number_text(row[name], signed=False, like=row["level"])
        for name in ("level", "level_after", "other_level")
    )
    return level, after, other


def _line(row: Row, study: Study) -> RemedyLine:
    before, after = (number_text(row[name], like=row["gap"]) for name in ("gap", "gap_after"))
    passes = [
        METHODS.get(study.methods[row[name]]).facts.passes for name in ("method", "replacement")
    ]
    return RemedyLine(
        study.place(*_cell(row)),
        study.name("metric", row["metric"]),
        study.display("method", row["method"]),
        study.display("method", row["replacement"]),
        row["group"],
        _levels(row),
        (before, after),
        (passes[0], passes[1]),
        row["helps"],
    )
