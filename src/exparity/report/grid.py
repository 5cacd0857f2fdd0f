"""Tests as disparity tables, wherever the rows come from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from exparity.core.errors import InputError
from exparity.report.tables import Table, cell_of_seeds
from exparity.stats.multiplicity import adjust

_GIVEN = {"dataset": "", "model": "", "seed": 0}
_NEEDED = ("method", "metric", "group_a", "group_b", "p", "significant", "cohens_d", "direction")


def complete_rows(rows: Sequence[Mapping[str, Any]], *, alpha: float = 0.05) -> list[Any]:
    """Return tests with all that tables ask for.

    Args:
        rows: rows of the tests or disparity artefact, or made by hand: what
            :func:`~exparity.stats.compare.compare_groups` found, with ``method`` and ``metric``.
            Without ``dataset``, ``model`` or ``seed`` all rows are of one.
        alpha: largest corrected p-value that is significant, where rows are not corrected yet.

    Raises:
        InputError: there is no row, or one lacks a column.
    """
    if not len(rows):
        raise InputError("there are no tests to show")
    full = [{**_GIVEN, **row} for row in rows]
    for i, row in enumerate(full):
        missing = [name for name in _NEEDED if name not in row]
        if missing:
            raise InputError(
                f"test {i}: has no '{missing[0]}'; give rows of 'tests' or 'disparity'"
            )
    if all("significant_bh" in row for row in full):
        return full
    return adjust(full, alpha=alpha)


def tables_of(rows: Sequence[Mapping[str, Any]], *, threshold: float) -> list[Table]:
    """Make a table per dataset and pair of groups, everything in the order of the rows.

    Args:
        rows: what :func:`complete_rows` returned. Cells need not be complete.
        threshold: |mean d| from which an effect is considerable.
    """
    grouped: dict[tuple[str, str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        grouped[row["dataset"], row["group_a"], row["group_b"]].append(row)
    return [_table(key, found, threshold) for key, found in grouped.items()]


def by_cell(
    rows: Sequence[Mapping[str, Any]],
) -> dict[tuple[str, str, str], list[Mapping[str, Any]]]:
    """Return the tests of each (model, method, metric)."""
    cells: dict[tuple[str, str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        cells[row["model"], row["method"], row["metric"]].append(row)
    return dict(cells)


def _table(key: tuple[str, str, str], rows: Sequence[Mapping[str, Any]], threshold: float) -> Table:
    dataset, group_a, group_b = key
    models, methods, metrics = (
        list(dict.fromkeys(row[kind] for row in rows)) for kind in ("model", "method", "metric")
    )
    return Table(
        dataset=dataset,
        group_a=group_a,
        group_b=group_b,
        models=models,
        methods=methods,
        metrics=metrics,
        cells={cell: cell_of_seeds(found, threshold) for cell, found in by_cell(rows).items()},
    )
