"""Worst groups over seeds, beside the range that chance makes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from exparity.artefacts.analyses import Findings
from exparity.artefacts.columns import Export
from exparity.core.grouping import grouped
from exparity.report.reading import mean_and_sd

if TYPE_CHECKING:
    from exparity.report.gather import Study

_CELL = ("dataset", "model", "method", "metric")


@dataclass(frozen=True)
class WorstGroup:
    """Distance of groups by one metric of one method, over seeds.

    Attributes:
        quantity: ``excess`` over random explanations, or ``score`` where there are none.
        seeds: trainings in which groups were compared.
        found: those in which they differ beyond chance: the corrected p is at most α.
        worst: the group with the worst shrunk mean most often in these; empty if there are none.
        times: how often.
        range, range_by_chance, shrunk_range: means over the trainings, in the metric's unit.
        n_groups: groups with a score.
        smallest: texts or matched sets of the smallest group.
    """

    dataset: str
    model: str
    method: str
    metric: str
    quantity: str
    seeds: int
    found: int
    worst: str
    times: int
    range: float | None
    range_by_chance: float | None
    shrunk_range: float | None
    n_groups: int
    smallest: int


def worst_groups(
    rows: Sequence[Mapping[str, Any]], directions: Mapping[str, str], alpha: float
) -> list[WorstGroup]:
    """Put the seeds of each method and metric together, found ones first.

    Args:
        rows: the worst_group artefact.
        directions: ``higher`` or ``lower`` is better, by metric.
        alpha: largest p-value that is significant.
    """
    quantity = "excess" if any(row["quantity"] == "excess" for row in rows) else "score"
    cells = grouped((row for row in rows if row["quantity"] == quantity), itemgetter(*_CELL))
    lines = [_line(quantity, of_cell, directions, alpha) for of_cell in cells.values()]
    return sorted(lines, key=lambda line: (-line.found, -line.times))


def _line(
    quantity: str, rows: Sequence[Mapping[str, Any]], directions: Mapping[str, str], alpha: float
) -> WorstGroup:
    # Facts of all groups are in every row.
    firsts = [of_seed[0] for of_seed in grouped(rows, itemgetter("seed")).values()]
    found = [row for row in firsts if row["p_bh"] <= alpha]
    cell = {name: firsts[0][name] for name in _CELL}
    is_higher_better = directions[cell["metric"]] == "higher"
    worst = Counter(row["lowest" if is_higher_better else "highest"] for row in found)
    del worst[""]
    name, times = worst.most_common(1)[0] if worst else ("", 0)
    ranges: dict[str, Any] = {
        column: mean_and_sd([row[column] for row in firsts])[0]
        for column in ("range", "range_by_chance", "shrunk_range")
    }
    return WorstGroup(
        **cell,
        **ranges,
        quantity=quantity,
        seeds=len(firsts),
        found=len(found),
        worst=name,
        times=times,
        n_groups=max(row["n_groups"] for row in firsts),
        smallest=min(row["n"] for row in rows),
    )


def findings(
    rows: Sequence[Mapping[str, Any]], study: Study, options: Mapping[str, Any]
) -> Findings | None:
    """Return what the report says of worst groups; None where no groups could be compared."""
    directions = {metric: study.metric_facts(metric).direction for metric in study.metrics}
    lines = worst_groups(rows, directions, study.statistics["alpha"])
    if not lines:
        return None
    export = Export.of("worst_group", "Worst group", WorstGroup, lines)
    return Findings({"lines": lines}, [export])
