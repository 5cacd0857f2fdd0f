"""Levels of groups, and the picture of them: how well explanations do for each group."""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

from exparity.core.grouping import grouped
from exparity.methods.facts import RANDOM
from exparity.report import picture
from exparity.report.gather import Study
from exparity.report.preference import ceilings_of, favoured_group
from exparity.report.row_plots import Level, RowPlot, level_plot
from exparity.report.rows import LevelRow, VerdictRow
from exparity.report.verdicts import is_of, judgement_of
from exparity.stats.verdicts import RANKS


@dataclass(frozen=True)
class LevelPanel:
    """The levels by one metric on one dataset and model.

    Attributes:
        caption: dataset, model where there are several, and metric with what its values mean.
        plot: a row a method, a dot with an interval for each group.
    """

    caption: str
    plot: RowPlot


def level_panels(study: Study) -> list[LevelPanel]:
    """Return a panel for each dataset, model and metric whose verdicts come first."""
    cell_of = attrgetter("dataset", "model", "metric")
    rows = grouped(study.levels, cell_of)
    judged = grouped((row for row in study.judged if row.stands), cell_of)
    panels = []
    for cell, standing in judged.items():
        if cell not in rows or not any(is_of(row, RANKS[0]) for row in standing):
            continue
        panel = _panel(study, cell, rows[cell], standing)
        if panel is not None:
            panels.append(panel)
    return panels


def _panel(
    study: Study,
    cell: tuple[str, str, str],
    rows: Sequence[LevelRow],
    standing: Sequence[VerdictRow],
) -> LevelPanel | None:
    """Return the panel of a dataset, model and metric; None without any level."""
    dataset, model, metric = cell
    quantity = next(row.quantity for row in standing if is_of(row, RANKS[0]))
    verdicts = grouped(standing, attrgetter("method"))
    compared = [row for row in rows if row.quantity.removeprefix("random_") == quantity]
    by_method = grouped(compared, attrgetter("method"))
    levels = [
        level
        for method in (*study.methods, RANDOM)
        for level in _levels(study, method, by_method.get(method, ()), verdicts.get(method, ()))
    ]
    is_lower_better = rows[0].metric_direction == "lower" and quantity != "skill"
    plot = level_plot(levels, higher_is_better=not is_lower_better)
    place = study.place(dataset, model)
    caption = f"{place}. {study.display('metric', metric)}: {_meaning(standing, quantity)}"
    return None if plot is None else LevelPanel(caption, plot)


def _levels(
    study: Study, method: str, rows: Sequence[LevelRow], verdicts: Sequence[VerdictRow]
) -> Iterator[Level]:
    """Yield a method's levels in the order of the groups, with the verdict on two of them."""
    by_group = {row.group: row for row in rows}
    ceilings = dict(ChainMap(*map(ceilings_of, verdicts)))
    word = ""
    favoured = ""
    judgement = judgement_of(verdicts[0]) if method != RANDOM and len(verdicts) == 1 else None
    if judgement is not None:
        word = judgement.label.lower()
        favoured = (favoured_group(verdicts[0]) or "") if judgement.favours else ""
    name = picture.RANDOM if method == RANDOM else study.display("method", method)
    groups = study.declared(rows[0].dataset).groups if rows else ()
    for group in groups:
        row = by_group.get(group)
        if row is not None:
            yield Level(
                name,
                group,
                level=row.level,
                ci_low=row.ci_low,
                ci_high=row.ci_high,
                ceiling=ceilings.get(group, math.nan),
                verdict=word,
                favoured=favoured,
            )


def _meaning(standing: Sequence[VerdictRow], quantity: str) -> str:
    """Return what the values of a panel mean."""
    if standing[0].foresees:
        return "0 foresees nothing, 1 everything"
    if quantity == "skill" and standing[0].metric_kind == "communication":
        return "skill, from 0 (as random words) to 1 (as the whole text)"
    if quantity == "skill":
        return "skill, from 0 (as random words) to 1 (as the best words found)"
    return "excess over random explanations" if quantity == "excess" else "score"
