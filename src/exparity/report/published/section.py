"""The comparison as a section of the report: what ``_published.html.j2`` shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from exparity.core.registry import Registry
from exparity.data import DATASETS
from exparity.methods import METHODS
from exparity.metrics import METRICS
from exparity.report.published import words
from exparity.report.published.agreement import Agreement, Correlation, majority
from exparity.report.published.comparison import Comparison, left_out_text
from exparity.report.published.matching import Match

_REGISTRIES: dict[str, Registry[Any]] = {
    "dataset": DATASETS,
    "method": METHODS,
    "metric": METRICS,
}


@dataclass(frozen=True)
class SideBySide:
    """Our cells of one dataset and training beside the published ones.

    Attributes:
        dataset: display name.
        scratch: whether the models were trained from scratch.
        tables: the published tables that the numbers are from.
        metrics: display names of the columns.
        rows: (our model, published model, method, cells in the order of the metrics).
    """

    dataset: str
    scratch: bool
    tables: str
    metrics: Sequence[str]
    rows: Sequence[tuple[str, str, str, Sequence[Match | None]]]


def section_of(comparison: Comparison) -> dict[str, Any] | None:
    """Return what the template shows, or None if nothing of ours was published."""
    if not comparison.matches:
        return None
    return {
        "comparison": comparison,
        "left_out": left_out_text(comparison),
        "rates": _rates(comparison),
        "claims": [result for result in comparison.claims if result.ours is not None],
        "tables": _side_by_side(comparison),
        "same_decision": same_decision,
        "words": words,
    }


def same_decision(match: Match) -> bool:
    """Return whether both call a cell significant, or neither does."""
    ours = majority(match.ours.significant, match.ours.total)
    return ours == majority(match.theirs.significant, match.theirs.total)


def _rates(comparison: Comparison) -> list[tuple[str, dict[str, Agreement], Correlation | None]]:
    """Return name, answers by question and rank correlation, of all cells and by dataset."""
    rhos = {(c.by, c.group): c for c in comparison.correlations}
    asked: dict[tuple[str, str], dict[str, Agreement]] = {}
    for a in comparison.agreements:
        if a.by in ("all", "dataset"):
            asked.setdefault((a.by, a.group), {})[a.question] = a
    return [
        (_name("dataset", group) if group else "All", answers, rhos.get((by, group)))
        for (by, group), answers in asked.items()
    ]


def _side_by_side(comparison: Comparison) -> list[SideBySide]:
    metrics = list(dict.fromkeys(match.theirs.metric for match in comparison.matches))
    grouped: dict[tuple[str, bool], dict[tuple[str, str, str], dict[str, Match]]] = {}
    for match in comparison.matches:
        theirs = match.theirs
        table = grouped.setdefault((theirs.dataset, theirs.scratch), {})
        row = match.ids[1], theirs.model, match.ids[2]
        table.setdefault(row, {})[theirs.metric] = match
    return [
        SideBySide(
            dataset=_name("dataset", dataset),
            scratch=scratch,
            tables=_tables(rows),
            metrics=[_name("metric", metric) for metric in metrics],
            rows=[
                (ours, theirs, _name("method", method), [cells.get(m) for m in metrics])
                for (ours, theirs, method), cells in rows.items()
            ],
        )
        for (dataset, scratch), rows in grouped.items()
    ]


def _tables(rows: dict[tuple[str, str, str], dict[str, Match]]) -> str:
    """Return which published tables are behind some cells."""
    cells = [match.theirs for row in rows.values() for match in row.values()]
    found = {number for cell in cells for number in (cell.table, cell.effect_table) if number}
    return f"Table{'s' if len(found) > 1 else ''} {' and '.join(sorted(found, key=int))}"


def _name(kind: str, id: str) -> str:
    registry = _REGISTRIES[kind]
    return registry.get(id).display if id in registry.ids() else id
