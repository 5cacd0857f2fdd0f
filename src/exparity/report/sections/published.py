"""Our numbers beside published ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from exparity.published import output
from exparity.published.agreement import Agreement
from exparity.published.comparison import Comparison
from exparity.published.matching import MatchedCell
from exparity.report.context import Content
from exparity.report.gather import REGISTRIES

_Row = tuple[str, str, str]


def content_of(comparison: Comparison) -> Content | None:
    """Return what the section shows, or None if nothing of ours was published."""
    if not comparison.matches:
        return None
    return Content(
        {
            "comparison": comparison,
            "rates": _rates(comparison),
            "tables": _side_by_side(comparison),
            "same_decision": same_decision,
            "written": output,
        }
    )


def same_decision(match: MatchedCell) -> bool:
    """Return whether both call a cell significant, or neither does."""
    return match.ours.in_most_seeds == match.theirs.in_most_seeds


def _rates(comparison: Comparison) -> dict[str, dict[str, Agreement]]:
    """Return the answers by question, of all cells and by dataset."""
    rates: dict[str, dict[str, Agreement]] = {}
    for a in comparison.agreements:
        if a.by in ("all", "dataset"):
            name = _name("dataset", a.group) if a.group else "All"
            rates.setdefault(name, {})[a.question] = a
    return rates


def _side_by_side(comparison: Comparison) -> list[dict[str, Any]]:
    """Return our cells of each dataset and training, in the order of the metrics."""
    metrics = list(dict.fromkeys(match.theirs.key.metric for match in comparison.matches))
    grouped: dict[tuple[str, bool], dict[_Row, dict[str, MatchedCell]]] = {}
    for match in comparison.matches:
        key = match.theirs.key
        table = grouped.setdefault((key.dataset, match.theirs.training == "scratch"), {})
        row = match.ids[1], key.model, match.ids[2]
        table.setdefault(row, {})[key.metric] = match
    return [
        {
            "dataset": _name("dataset", dataset),
            "scratch": scratch,
            "tables": _tables([match for of_row in rows.values() for match in of_row.values()]),
            "metrics": [_name("metric", metric) for metric in metrics],
            "rows": [
                (ours, theirs, _name("method", method), [of_row.get(m) for m in metrics])
                for (ours, theirs, method), of_row in rows.items()
            ],
        }
        for (dataset, scratch), rows in grouped.items()
    ]


def _tables(matches: Sequence[MatchedCell]) -> str:
    """Return which published tables are behind some cells."""
    cells = [match.theirs for match in matches]
    numbers = {number for cell in cells for number in (cell.table, cell.effect_table) if number}
    return f"Table{'s' if len(numbers) > 1 else ''} {' and '.join(sorted(numbers, key=int))}"


def _name(kind: str, id: str) -> str:
    registry = REGISTRIES[kind]
    return registry.get(id).display if id in registry.ids() else id
