"""How far explanations of one text agree, by group: over trainings and between methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from exparity.analyses.agreement._pairwise import MEASURES
from exparity.artefacts.analyses import Findings
from exparity.artefacts.exports import Export
from exparity.core.grouping import grouped
from exparity.stats.verdicts import VERDICTS

if TYPE_CHECKING:
    from exparity.report.gather import Study

_BY_ID = {verdict.id: verdict for verdict in VERDICTS}


@dataclass(frozen=True)
class Agreement:
    """Agreement by one measure in two groups, and the gap between them.

    Attributes:
        between: ``methods``, judged over trainings and texts, or ``trainings``, described.
        method_a, method_b: the two methods; the one whose trainings agree; or empty for all pairs.
        mean_a, mean_b: means of the groups.
        d: gap over the standard deviation within groups.
        verdict: of the gap; None where it is not judged.
        n_a, n_b: texts.
    """

    dataset: str
    model: str
    between: str
    method_a: str
    method_b: str
    measure: str
    group_a: str
    group_b: str
    mean_a: float
    mean_b: float
    d: float
    verdict: str | None
    n_a: int
    n_b: int


@dataclass(frozen=True)
class Line:
    """One row of the table: a pair of methods, all pairs, or a method over its trainings.

    Attributes:
        cells: by measure, the mean of each group and the widest gap of two groups.
    """

    method_a: str
    method_b: str
    cells: Mapping[str, tuple[Mapping[str, float], Agreement]]


@dataclass(frozen=True)
class AgreementTable:
    """One dataset and model.

    Attributes:
        lines: by ``methods`` and ``trainings``; all pairs of methods come first.
    """

    dataset: str
    model: str
    groups: Sequence[str]
    lines: Mapping[str, Sequence[Line]]


def label_of(agreement: Agreement) -> str:
    """Return the verdict's label; empty where the gap is not judged."""
    verdict = _BY_ID.get(agreement.verdict or "")
    return verdict.label if verdict else ""


def is_gap(agreement: Agreement) -> bool:
    """Return whether groups are shown to differ."""
    verdict = _BY_ID.get(agreement.verdict or "")
    return verdict is not None and verdict.is_gap


def agreement_tables(rows: Sequence[Mapping[str, Any]]) -> list[AgreementTable]:
    """Put the rows of the agreement artefact into one table for each dataset and model."""
    tables = []
    for (dataset, model), part in grouped(rows, itemgetter("dataset", "model")).items():
        lines = {
            between: [_line(of_pair) for of_pair in grouped(some, _pair).values()]
            for between, some in grouped(part, itemgetter("between")).items()
        }
        tables.append(AgreementTable(dataset, model, part[0]["groups"], lines))
    return tables


def _pair(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["method_a"], row["method_b"]


def _line(rows: Sequence[Mapping[str, Any]]) -> Line:
    cells = {}
    by_measure = grouped(rows, itemgetter("measure"))
    for measure in MEASURES:
        pairs = [_agreement(row) for row in by_measure.get(measure, ())]
        if pairs:
            means = {one.group_a: one.mean_a for one in pairs}
            means |= {one.group_b: one.mean_b for one in pairs}
            widest = max(pairs, key=lambda one: (is_gap(one), abs(one.d) if one.d == one.d else -1))
            cells[measure] = means, widest
    return Line(rows[0]["method_a"], rows[0]["method_b"], cells)


def _agreement(row: Mapping[str, Any]) -> Agreement:
    return Agreement(**{name: row[name] for name in Agreement.__dataclass_fields__})


def findings(
    rows: Sequence[Mapping[str, Any]], study: Study, options: Mapping[str, Any]
) -> Findings | None:
    """Return what the report says of agreement; None where no two explanations are of a text."""
    if not rows:
        return None
    title = "Agreement of explanations"
    export = Export.of("agreement", title, Agreement, map(_agreement, rows))
    return Findings(
        {
            "tables": agreement_tables(rows),
            "top_share": rows[0]["top_share"],
            "unit": rows[0]["unit"],
            "label_of": label_of,
            "is_gap": is_gap,
        },
        [export],
    )
