"""Worst groups over seeds, and the range by chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from exparity.artefacts.analyses import Findings
from exparity.artefacts.columns import Export, Row, records
from exparity.core.grouping import grouped
from exparity.report.gather import Study
from exparity.report.reading import mean_and_sd


@dataclass(frozen=True)
class _Spread:
    """The spread of a group in one training, as the artefact has it."""

    dataset: str
    model: str
    seed: int
    method: str
    metric: str
    quantity: str
    n: int
    n_groups: int
    p_bh: float
    lowest: str
    highest: str
    range: float
    range_by_chance: float
    shrunk_range: float


@dataclass(frozen=True)
class WorstGroup:
    """The worst group of a method and metric, over trainings.

    Attributes:
        dataset, model, method, metric: what it is of.
        quantity: ``excess`` over random explanations where there is any, else ``score``.
        seeds: trainings in which groups were compared.
        found: those in which they differ beyond chance.
        worst: the group that has the worst shrunk mean most often in these; empty where neither end
            is better.
        times: how many of them.
        range, range_by_chance, shrunk_range: means of the ranges over the trainings.
        n_groups: groups, at most.
        smallest: values of the smallest.
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
    rows: Sequence[Row], preferences: Mapping[str, str | None], alpha: float
) -> list[WorstGroup]:
    """Put the seeds of each method and metric together, found ones first.

    Args:
        rows: the worst_group artefact.
        preferences: ``higher`` or ``lower`` is better, by metric; None where neither is.
        alpha: largest p-value that is significant.
    """
    spreads = records(_Spread, rows)
    quantity = "excess" if any(spread.quantity == "excess" for spread in spreads) else "score"
    compared = (spread for spread in spreads if spread.quantity == quantity)
    cells = grouped(compared, attrgetter("dataset", "model", "method", "metric"))
    lines = [_line(cell, preferences[cell[0].metric], alpha) for cell in cells.values()]
    return sorted(lines, key=lambda line: (-line.found, -line.times))


def _line(cell: Sequence[_Spread], preference: str | None, alpha: float) -> WorstGroup:
    """Put the spreads of one method and metric together."""
    # Facts of all groups are in every row.
    trainings = [groups[0] for groups in grouped(cell, attrgetter("seed")).values()]
    significant = [training for training in trainings if training.p_bh <= alpha]
    worst = Counter[str]()
    if preference:
        ends = (t.lowest if preference == "higher" else t.highest for t in significant)
        worst.update(filter(None, ends))
    group, times = worst.most_common(1)[0] if worst else ("", 0)
    first = trainings[0]
    return WorstGroup(
        first.dataset,
        first.model,
        first.method,
        first.metric,
        first.quantity,
        seeds=len(trainings),
        found=len(significant),
        worst=group,
        times=times,
        range=mean_and_sd([training.range for training in trainings])[0],
        range_by_chance=mean_and_sd([training.range_by_chance for training in trainings])[0],
        shrunk_range=mean_and_sd([training.shrunk_range for training in trainings])[0],
        n_groups=max(training.n_groups for training in trainings),
        smallest=min(spread.n for spread in cell),
    )


def findings(rows: Sequence[Row], study: Study) -> Findings | None:
    """Return the section; None where no groups could be compared."""
    preferences = {metric: study.metric_facts(metric).preference for metric in study.metrics}
    lines = worst_groups(rows, preferences, study.statistics.alpha)
    if not lines:
        return None
    export = Export.of("worst_group", "Worst group", WorstGroup, lines)
    return Findings({"lines": lines}, [export])
