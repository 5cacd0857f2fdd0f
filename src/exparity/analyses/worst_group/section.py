"""Worst groups over seeds, beside the range that chance makes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from exparity.artefacts.analyses import Findings
from exparity.artefacts.exports import Export
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
    cells: dict[tuple[str, ...], dict[int, list[Mapping[str, Any]]]] = {}
    for row in rows:
        if row["quantity"] == quantity:
            seeds = cells.setdefault(tuple(row[id] for id in _CELL), defaultdict(list))
            seeds[row["seed"]].append(row)
    lines = [
        _line(key, quantity, list(seeds.values()), directions[key[-1]], alpha)
        for key, seeds in cells.items()
    ]
    return sorted(lines, key=lambda line: (-line.found, -line.times))


def _line(
    key: tuple[str, ...],
    quantity: str,
    seeds: Sequence[Sequence[Mapping[str, Any]]],
    direction: str,
    alpha: float,
) -> WorstGroup:
    firsts = [groups[0] for groups in seeds]  # facts of all groups are in every row
    found = [row for row in firsts if row["p_bh"] <= alpha]
    worst = Counter(row["lowest" if direction == "higher" else "highest"] for row in found)
    del worst[""]
    name, times = worst.most_common(1)[0] if worst else ("", 0)
    spread, by_chance, shrunk = (
        mean_and_sd([row[column] for row in firsts])[0]
        for column in ("range", "range_by_chance", "shrunk_range")
    )
    dataset, model, method, metric = key
    return WorstGroup(
        dataset,
        model,
        method,
        metric,
        quantity=quantity,
        seeds=len(firsts),
        found=len(found),
        worst=name,
        times=times,
        range=spread,
        range_by_chance=by_chance,
        shrunk_range=shrunk,
        n_groups=max(row["n_groups"] for row in firsts),
        smallest=min(row["n"] for groups in seeds for row in groups),
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
