"""p-values corrected for how many were looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import comb
from typing import Literal, NamedTuple

import numpy as np

from exparity.core.grouping import grouped
from exparity.core.settings import DEFAULTS
from exparity.stats.informative import is_informative
from exparity.types import FloatArray, Row

CELL_IDS = ("dataset", "model", "method", "metric", "group_a", "group_b")
"""Ids that the tests of one cell share, which differ in the seed."""
FamilyId = Literal["dataset", "model", "seed", "method", "metric"]
"""Id that the tests of one family may share."""


def holm(p: Sequence[float] | FloatArray) -> FloatArray:
    """Adjust p-values by Holm's step-down method (Holm 1979).

    Rejecting where the adjusted p is at most α keeps the probability of one or more false
    rejections at or below α, however the tests depend on each other.
    NaN, of a test that could not be made, does not count and stays.
    """
    values = np.array(p, dtype=np.float64)
    defined = np.flatnonzero(~np.isnan(values))
    order = defined[np.argsort(values[defined], kind="stable")]
    m = len(order)
    steps = np.maximum.accumulate(values[order] * (m - np.arange(m)))
    values[order] = np.minimum(steps, 1.0)
    return values


def benjamini_hochberg(p: Sequence[float] | FloatArray) -> FloatArray:
    """Adjust p-values by the step-up method of Benjamini and Hochberg (1995).

    Rejecting where the adjusted p is at most α keeps the expected share of false ones among the
    rejections at or below α, for tests that are independent or positively dependent.
    """
    from scipy.stats import false_discovery_control

    values = np.array(p, dtype=np.float64)
    defined = ~np.isnan(values)
    if defined.any():
        values[defined] = false_discovery_control(values[defined], method="bh")
    return values


class Gate(NamedTuple):
    """Tests of pairs of groups that count only if a test of all groups finds a difference.

    Attributes:
        places: positions of the pairs among those of the family.
        p: p-value of "no group differs"; that of the pair where there is one pair.
        n_groups: groups that are compared.
    """

    places: Sequence[int]
    p: float
    n_groups: int


def behind_gates(p: FloatArray, gates: Sequence[Gate]) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Adjust p-values of pairs of groups behind tests of all groups of their cell.

    Within a cell, a pair counts at a level if the gate does, and Holm's steps do for as many pairs
    as can be alike while some differ (Shaffer 1986, doi:10.1080/01621459.1986.10478341): of three
    groups, one pair. That keeps the probability of any false pair of the cell. Over cells,

    - ``bh`` selects cells by the method of Benjamini and Hochberg on the gates, and tests each at
      the level times the share of cells that are selected, which keeps the expected share of
      selected cells with a false pair (Benjamini and Bogomolov 2014, doi:10.1111/rssb.12028);
    - ``holm`` tests each at the level over the number of cells in which not yet every pair
      differs, which keeps the probability of any false pair at all.

    Where each cell is one pair, these are the methods of their names.

    Args:
        p: (n,) p-values of the pairs of a family, NaN where nothing is tested.
        gates: the cells, which divide the pairs that are tested.

    Returns:
        By correction (n,) p-values of the pairs, and (len(gates),) those of the gates.
    """
    n_cells = len(gates)
    within = np.full(len(p), np.nan)
    for gate in gates:
        within[gate.places] = _within(p[gate.places], gate)
    gate_p = np.array([gate.p for gate in gates])
    all_pairs = np.array([np.nanmax(within[gate.places]) for gate in gates])
    selected = benjamini_hochberg(gate_p)
    finished = holm(all_pairs)
    bounds = {
        "bh": (np.sort(selected), n_cells / np.arange(1, n_cells + 1)),
        "holm": (np.concatenate([[0.0], np.sort(finished)[:-1]]), np.arange(n_cells, 0, -1.0)),
    }
    corrected = {"bh": selected, "holm": holm(gate_p)}
    adjusted = {}
    for name, (least, factors) in bounds.items():
        pairs = np.maximum(least[:n_cells], within[:, None] * factors)
        smallest = pairs.min(axis=1) if n_cells else within
        adjusted[name] = np.minimum(smallest, 1.0), corrected[name]
    return adjusted


def _within(p: FloatArray, gate: Gate) -> FloatArray:
    """Adjust the p-values of the pairs of a cell behind its gate."""
    if len(p) < 2:
        return p
    order = np.argsort(p, kind="stable")
    factors = [
        min(_most_alike(gate.n_groups, max(step, 1)), len(p) - step) for step in range(len(p))
    ]
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate(np.maximum(p[order] * factors, gate.p))
    return np.minimum(adjusted, 1.0)


def _most_alike(n_groups: int, n_different: int) -> int:
    """Return how many pairs of groups can be alike at most where some differ."""
    bound = max(comb(n_groups, 2) - n_different, 1)
    return max(count for count in _alike_counts(n_groups) if count <= bound)


@cache
def _alike_counts(n_groups: int) -> frozenset[int]:
    """Return the numbers of pairs that can be alike: groups fall into classes of equal ones."""
    if n_groups < 1:
        return frozenset({0})
    return frozenset(
        comb(size, 2) + others
        for size in range(1, n_groups + 1)
        for others in _alike_counts(n_groups - size)
    )


def quantity_of(row: Row) -> str:
    """Return what is compared in a row; tests by hand are of scores."""
    return str(row.get("quantity", "score"))


def families(
    rows: Sequence[Row],
    family: Sequence[str],
    part_of: Callable[[Row], str] = quantity_of,
) -> list[list[int]]:
    """Return the positions of the rows of each family.

    Args:
        rows: the rows.
        family: ids that the rows of a family share.
        part_of: what else they share.
    """

    def family_of(i: int) -> tuple[object, ...]:
        return part_of(rows[i]), *(rows[i][name] for name in family)

    counted = (i for i, row in enumerate(rows) if is_informative(row.get("flags", ())))
    return list(grouped(counted, family_of).values())


def adjust(
    rows: Sequence[Row],
    family: Sequence[str] = ("dataset",),
    *,
    alpha: float = DEFAULTS.alpha,
) -> list[dict[str, object]]:
    """Correct the p-values of tests within families: those of Mann–Whitney and of signed ranks.

    Scores, and their excess over random explanations (``quantity``), are families of their own.
    """
    members = families(rows, family)
    adjusted = [dict(row) for row in rows]
    for column in ("p", "wilcoxon_p"):
        p = np.array([row.get(column, np.nan) for row in rows], dtype=np.float64)
        for name, correct in (("holm", holm), ("bh", benjamini_hochberg)):
            corrected = np.full(len(p), np.nan)
            for indices in members:
                corrected[indices] = correct(p[indices])
            for row, value in zip(adjusted, corrected.tolist(), strict=True):
                row[f"{column}_{name}"] = value
    return [
        {**row, **{f"significant_{name}": row[f"p_{name}"] <= alpha for name in ("holm", "bh")}}
        for row in adjusted
    ]
