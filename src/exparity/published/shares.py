"""Shares of significant and of considerable runs, ours and published, and what a text says of them.

As in the study, the considerable runs of a cell are its significant ones, if their mean effect is
considerable. Of published cells without an effect size they are unknown; shares of such cells lie
between none of them and all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter, gt, lt
from typing import NamedTuple

from exparity.core.grouping import grouped
from exparity.published.matches import CellMatch
from exparity.published.study import SCRATCH, Key, PublishedStudy, Value, published_table

_PARTS = ("method", "metric", "dataset", "model")
_PRETRAINED = "pretrained"
# Percentage points by which a share may differ from the number in a text, which is rounded.
_ROUNDED = 0.5
_RELATIONS = {">": gt, "<": lt}


class _Statement(NamedTuple):
    """A row of the table of a study's statements; ids of cells are separated by blanks."""

    section: str
    question: str
    dataset: str
    model: str
    method: str
    metric: str
    relation: str
    percent: str

    def is_of(self, ids: Key | CellMatch) -> bool:
        """Return whether it is about a cell."""
        for kind in _PARTS:
            names: str = getattr(self, kind)
            name: str = getattr(ids, kind)
            if names == _PRETRAINED:
                if name.endswith(SCRATCH):
                    return False
            elif names and name not in names.split():
                return False
        return True


@dataclass(frozen=True)
class RunShares:
    """Shares of runs of one method, metric, dataset or model.

    Attributes:
        by, group: kind and value of the id; ``all`` and empty for all cells.
        cells: cells of ours with a published one.
        runs_ours: their runs.
        significant_ours, significant_published: shares of significant runs in these cells; None
            where there is no cell, here and below.
        considerable_ours, considerable_published: shares of considerable runs, in those of the
            cells that have a published effect size or no significant run.
        runs_in_tables: runs of all published cells of this kind.
        significant_in_tables, considerable_in_tables: the same shares of these.
    """

    by: str
    group: str
    cells: int
    runs_ours: int
    significant_ours: float | None
    significant_published: float | None
    considerable_ours: float | None
    considerable_published: float | None
    runs_in_tables: int
    significant_in_tables: float | None
    considerable_in_tables: float | None


@dataclass(frozen=True)
class Claim:
    """A share of runs by the text of a study, and by its tables.

    Attributes:
        section: where it is said.
        question: whether runs are ``significant`` or ``considerable``.
        dataset, model, method, metric: ids of the cells, separated by blanks; all if empty.
        relation: ``=``, ``<`` or ``>``.
        claimed: the number of the text, in [0, 1].
        runs: published runs of these cells.
        lowest, highest: the share in the tables; the two differ by runs without an effect size.
        holds: whether it holds for the tables, equality up to half a percentage point; None where
            that depends on runs without an effect size.
        runs_ours: runs of ours in cells of this kind.
        ours: their share; None without any.
    """

    section: str
    question: str
    dataset: str
    model: str
    method: str
    metric: str
    relation: str
    claimed: float
    runs: int
    lowest: float
    highest: float
    holds: bool | None
    runs_ours: int
    ours: float | None


def run_shares(study: PublishedStudy, matches: Sequence[CellMatch]) -> list[RunShares]:
    """Return the shares of all cells, and of those of each method, metric, dataset and model."""
    shares = [_shares("all", "", [*study.cells.values()], matches)]
    for by in _PARTS:
        ours = grouped(matches, attrgetter(by))
        for group in study.names(by):
            cells = [value for key, value in study.cells.items() if getattr(key, by) == group]
            shares.append(_shares(by, group, cells, ours.get(group, [])))
    return shares


def claims_of(study: PublishedStudy, matches: Sequence[CellMatch]) -> list[Claim]:
    """Return what the study's text says of shares, beside its tables and ours; none if unknown."""
    rows = published_table(study.id, "claims")
    return [_claim(_Statement(**row), study, matches) for row in rows]


def _shares(by: str, group: str, cells: Sequence[Value], matches: Sequence[CellMatch]) -> RunShares:
    """Return the shares of the published cells of a kind, and of ours beside them."""
    with_effect = [cell for cell in cells if cell.considerable is not None]
    matched_effects = [match for match in matches if match.considerable_published is not None]
    considerable = [_with_considerable_runs(match) for match in matched_effects]
    n_runs = sum(cell.runs for cell in cells)
    n_considerable = sum(cell.significant for cell in with_effect if cell.considerable)
    return RunShares(
        by,
        group,
        cells=len(matches),
        runs_ours=sum(match.total_ours for match in matches),
        significant_ours=_our_share(matches),
        significant_published=_published_share(matches),
        considerable_ours=_our_share(considerable),
        considerable_published=_published_share(considerable),
        runs_in_tables=n_runs,
        significant_in_tables=_ratio(sum(cell.significant for cell in cells), n_runs),
        considerable_in_tables=_ratio(n_considerable, sum(cell.runs for cell in with_effect)),
    )


def _with_considerable_runs(match: CellMatch) -> CellMatch:
    """Return a match whose significant runs count only where their effect is considerable."""
    return replace(
        match,
        significant_ours=match.significant_ours if match.considerable_ours else 0,
        significant_published=match.significant_published if match.considerable_published else 0,
    )


def _our_share(matches: Sequence[CellMatch]) -> float | None:
    """Return our share of significant runs."""
    return _ratio(
        sum(match.significant_ours for match in matches),
        sum(match.total_ours for match in matches),
    )


def _published_share(matches: Sequence[CellMatch]) -> float | None:
    """Return the published share of significant runs."""
    return _ratio(
        sum(match.significant_published for match in matches),
        sum(match.total_published for match in matches),
    )


def _ratio(hits: int, n: int) -> float | None:
    return hits / n if n else None


def _claim(text: _Statement, study: PublishedStudy, matches: Sequence[CellMatch]) -> Claim:
    cells = [value for key, value in study.cells.items() if text.is_of(key)]
    ours = [match for match in matches if text.is_of(match)]
    runs = sum(cell.runs for cell in cells)
    if text.question == "considerable":
        ours = [_with_considerable_runs(match) for match in ours]
        low = sum(cell.significant for cell in cells if cell.considerable)
        high = low + sum(cell.significant for cell in cells if cell.considerable is None)
    else:
        low = high = sum(cell.significant for cell in cells)
    claimed = float(text.percent) / 100
    lowest = low / runs
    highest = high / runs
    return Claim(
        text.section,
        text.question,
        text.dataset,
        text.model,
        text.method,
        text.metric,
        text.relation,
        claimed=claimed,
        runs=runs,
        lowest=lowest,
        highest=highest,
        holds=_holds(text.relation, claimed, lowest, highest),
        runs_ours=sum(match.total_ours for match in ours),
        ours=_our_share(ours),
    )


def _holds(relation: str, claimed: float, low: float, high: float) -> bool | None:
    """Return whether a claim holds for both ends of a share; None where they disagree."""
    if relation == "=":
        if low <= claimed + _ROUNDED / 100 and high >= claimed - _ROUNDED / 100:
            return True if high - low <= 2 * _ROUNDED / 100 else None
        return False
    compare = _RELATIONS[relation]
    answers = {compare(low, claimed), compare(high, claimed)}
    return answers.pop() if len(answers) == 1 else None
