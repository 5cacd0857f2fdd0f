"""The disparity table in the form of the published study (Dhaini et al. 2025, Tables 3 and 4).

A cell counts the seeds with a significant difference between two groups, is bold where their mean
effect is considerable, and is coloured by the group with the higher scores.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from exparity.core.errors import InputError
from exparity.core.escaping import file_name
from exparity.report.gather import Study
from exparity.stats.multiplicity import adjust
from exparity.stats.seeds import SeedCounts, SeedSummary, count_seeds, summarise_seeds
from exparity.stats.significance import SignificantShare, count_significant, headline_shares

Row = Mapping[str, Any]
CellKey = tuple[str, str, str]
"""Model, method and metric."""

_ALONE = {"dataset": "", "model": "", "seed": 0}
_NEEDED = ("method", "metric", "group_a", "group_b", "p", "significant", "cohens_d", "direction")


@dataclass(frozen=True)
class Cell(SeedCounts):
    """One cell: the published counts, and what is known beyond.

    Attributes:
        holm: seeds that are significant after Holm's correction.
        bh: seeds that are significant after that of Benjamini and Hochberg.
        summary: all seeds together.
    """

    holm: int
    bh: int
    summary: SeedSummary

    @property
    def strength(self) -> float:
        """Share of significant seeds, in [0, 1]: how strongly the cell is coloured."""
        return self.significant / self.total


@dataclass(frozen=True)
class Table:
    """The disparity table of one dataset and one pair of groups.

    Attributes:
        dataset: the dataset's instance.
        group_a: first group; coloured blue where it scores higher.
        group_b: second group; coloured red where it scores higher.
        models: rows, outer.
        methods: rows, inner.
        metrics: columns.
        cells: what the seeds of each (model, method, metric) found together.
        tests: the tests behind each cell, one a seed.
    """

    dataset: str
    group_a: str
    group_b: str
    models: Sequence[str]
    methods: Sequence[str]
    metrics: Sequence[str]
    cells: Mapping[CellKey, Cell]
    tests: Mapping[CellKey, Sequence[Row]]

    @property
    def name(self) -> str:
        """File name without suffix."""
        return file_name("disparity", self.dataset, self.group_a, self.group_b)

    def rows(self) -> Iterator[tuple[str, str, list[Cell]]]:
        """Yield model, method and cells in the order of the metrics."""
        for model in self.models:
            for method in self.methods:
                yield model, method, [self.cells[model, method, m] for m in self.metrics]


def complete_rows(rows: Sequence[Row], *, alpha: float = 0.05) -> list[Any]:
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
    full = [{**_ALONE, **row} for row in rows]
    for i, row in enumerate(full):
        missing = [name for name in _NEEDED if name not in row]
        if missing:
            raise InputError(
                f"test {i}: has no '{missing[0]}'; give rows of 'tests' or 'disparity'"
            )
    if all("significant_bh" in row for row in full):
        return full
    return adjust(full, alpha=alpha)


def by_table(rows: Sequence[Row]) -> dict[tuple[str, str, str], list[Row]]:
    """Return the tests of each dataset and pair of groups."""
    tables: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in rows:
        tables[row["dataset"], row["group_a"], row["group_b"]].append(row)
    return dict(tables)


def by_cell(rows: Sequence[Row]) -> dict[CellKey, list[Row]]:
    """Return the tests of each (model, method, metric)."""
    cells: dict[CellKey, list[Row]] = defaultdict(list)
    for row in rows:
        cells[row["model"], row["method"], row["metric"]].append(row)
    return dict(cells)


def tables_of(rows: Sequence[Row], *, threshold: float) -> list[Table]:
    """Make a table per dataset and pair of groups, everything in the order of the rows.

    Args:
        rows: rows of the disparity artefact, or what :func:`complete_rows` returned. Cells need not
            be complete.
        threshold: |mean d| from which an effect is considerable.
    """
    return [_table(*key, of_table, threshold) for key, of_table in by_table(rows).items()]


def _table(
    dataset: str, group_a: str, group_b: str, rows: Sequence[Row], threshold: float
) -> Table:
    tests = by_cell(rows)
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
        cells={cell: cell_of_seeds(of_cell, threshold) for cell, of_cell in tests.items()},
        tests=tests,
    )


def cell_of_seeds(rows: Sequence[Row], threshold: float) -> Cell:
    """Return what the seeds of one cell found together.

    Args:
        rows: tests of one (dataset, model, method, metric) for two groups, one a seed.
        threshold: |mean d| from which the effect is considerable.
    """
    return Cell(
        **vars(count_seeds(rows, threshold)),
        holm=sum(row["significant_holm"] for row in rows),
        bh=sum(row["significant_bh"] for row in rows),
        summary=summarise_seeds(rows, threshold=threshold),
    )


def disparity_tables(study: Study) -> list[Table]:
    """Make one table per dataset and pair of groups, in the order of the config."""
    order = list(study.datasets)
    tables = tables_of(study.rows, threshold=study.statistics["threshold"])
    return sorted(tables, key=lambda table: order.index(table.dataset))


def headline_rates(study: Study) -> dict[str, dict[str, Any]]:
    """Return how often groups differ, by what is counted in words."""
    alpha = study.statistics["alpha"]
    names = {
        "plain": f"Mann–Whitney U, p ≤ {alpha:g}",
        "considerable": f"…and |d| ≥ {study.statistics['threshold']:g}",
        "holm": "…after correction by Holm",
        "bh": "…after correction by Benjamini and Hochberg",
        "paired": f"Wilcoxon signed-rank on matched sets, p ≤ {alpha:g}",
        "paired_holm": "Signed-rank, after correction by Holm",
        "paired_bh": "Signed-rank, after correction by Benjamini and Hochberg",
    }
    shares = headline_shares(study.rows, alpha=alpha, controls=study.controls.get("", ()))
    return {names[counted]: share_columns(share) for counted, share in shares.items()}


def rates_by_metric(study: Study) -> list[dict[str, Any]]:
    """Return the share of significant Mann–Whitney tests of each metric, beside the control's."""
    alpha = study.statistics["alpha"]
    rates = []
    for metric in study.metrics:
        rows = [row for row in study.rows if row["metric"] == metric]
        share = count_significant(rows, alpha=alpha, controls=study.controls.get(metric, ()))
        if share.n:
            kind = study.metric_facts(metric).kind
            about = {"metric": study.display("metric", metric), "kind": kind}
            rates.append(about | share_columns(share))
    return rates


def share_columns(share: SignificantShare) -> dict[str, Any]:
    """Return a share as the columns of a table: counts, interval and the control's."""
    low, high = share.interval()
    control = share.control
    return {
        "hits": share.hits,
        "n": share.n,
        "rate": share.share,
        "low": low,
        "high": high,
        "control": control.rate if control else None,
        "control_low": control.low if control else None,
        "control_high": control.high if control else None,
    }
