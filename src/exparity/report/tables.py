"""The disparity table in the form of the published study (Dhaini et al. 2025, Tables 3 and 4).

A cell counts the seeds with a significant difference between two groups, is bold where their mean
effect is considerable, and is coloured by the group with the higher scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from operator import attrgetter

from exparity.core.grouping import grouped
from exparity.report.gather import Study
from exparity.report.rows import JudgedCell, VerdictRow, Verdicts
from exparity.stats.seeds import SeedCounts, SeedTest, count_seeds, mean_effect
from exparity.stats.verdicts import STANDING

CellKey = tuple[str, str, str]
"""Model, method and metric."""

MOST_PAIRS = 6
"""Pairs of groups of a dataset, those of four, that a page shows one by one."""


@dataclass(frozen=True)
class Cell(SeedCounts):
    """One cell: its published counts, its tests and its verdicts."""

    tests: Mapping[str, Sequence[SeedTest]]  # by quantity, one a seed
    verdicts: JudgedCell

    @property
    def scores(self) -> Sequence[SeedTest]:
        """Tests of its scores."""
        return self.tests["score"]

    @property
    def mean_d_all(self) -> float:
        """Mean d over all seeds that count; NaN if none has one."""
        return mean_effect(self.scores)

    @property
    def standing(self) -> VerdictRow | None:
        """Row of the verdict that counts for the cell."""
        return self.verdicts.standing

    @property
    def quantity(self) -> str:
        """The quantity that counts for the cell; its score without a verdict."""
        return "score" if self.standing is None else self.standing.quantity

    @property
    def strength(self) -> float:
        """Share of significant seeds, in [0, 1]: how strongly the cell is coloured."""
        return self.significant / self.total


@dataclass(frozen=True)
class Table:
    """The disparity table of one dataset and one pair of groups."""

    dataset: str
    group_a: str  # blue where it scores higher
    group_b: str  # red
    models: Sequence[str]  # outer rows
    methods: Sequence[str]  # inner rows
    metrics: Sequence[str]  # columns
    cells: Mapping[CellKey, Cell]  # row by row

    @property
    def judged(self) -> list[VerdictRow]:
        """Rows of the verdicts that count, for cells with a verdict."""
        standing = (cell.standing for cell in self.cells.values())
        return [row for row in standing if row is not None and row.verdict]

    def rows(self) -> Iterator[tuple[str, str, dict[str, Cell | None]]]:
        """Yield model, method and cells by metric; None where the metric does not apply."""
        for model in self.models:
            for method in self.methods:
                yield model, method, {m: self.cells.get((model, method, m)) for m in self.metrics}


def by_pair(rows: Iterable[VerdictRow]) -> dict[tuple[str, str, str], list[VerdictRow]]:
    """Return the verdicts of each dataset and pair of groups."""
    return grouped(rows, attrgetter("dataset", "group_a", "group_b"))


def tables_of(
    tests: Sequence[SeedTest], *, threshold: float, verdicts: Verdicts | None = None
) -> list[Table]:
    """Return a table per dataset and pair of groups, in the order of the tests."""
    verdicts_by_cell = verdicts or {}
    compared = [test for test in tests if test.quantity in STANDING]
    tables = []
    by_table = grouped(compared, attrgetter("dataset", "group_a", "group_b"))
    for (dataset, group_a, group_b), members in by_table.items():
        by_cell = grouped(members, attrgetter("model", "method", "metric"))
        models = list(dict.fromkeys(model for model, _, _ in by_cell))
        methods = list(dict.fromkeys(method for _, method, _ in by_cell))
        metrics = list(dict.fromkeys(metric for _, _, metric in by_cell))
        cells = {}
        for key in filter(by_cell.__contains__, product(models, methods, metrics)):
            by_quantity = grouped(by_cell[key], attrgetter("quantity"))
            counts = vars(count_seeds(by_quantity["score"], threshold))
            judged = verdicts_by_cell.get((dataset, *key, group_a, group_b), JudgedCell())
            cells[key] = Cell(**counts, tests=by_quantity, verdicts=judged)
        tables.append(Table(dataset, group_a, group_b, models, methods, metrics, cells))
    return tables


def as_it_stands(table: Table, threshold: float) -> Table:
    """Return a table whose tests are those of the quantity that each cell stands on."""
    cells = {}
    for key, cell in table.cells.items():
        tests = cell.tests.get(cell.quantity, cell.scores)
        counts = vars(count_seeds(tests, threshold))
        cells[key] = replace(cell, **counts, tests={**cell.tests, "score": tests})
    return replace(table, cells=cells)


def quantity_of(table: Table, metric: str) -> str:
    """Return what the cells of a metric stand on; ``score`` where they differ in it."""
    quantities = {cell.quantity for key, cell in table.cells.items() if key[2] == metric}
    return quantities.pop() if len(quantities) == 1 else "score"


def disparity_tables(study: Study) -> list[Table]:
    """Return a table per dataset and pair of groups, in the order of the config."""
    order = list(study.datasets)
    threshold = study.statistics.threshold
    tables = tables_of(study.tests, threshold=threshold, verdicts=study.verdicts)
    return sorted(tables, key=lambda table: order.index(table.dataset))


def by_dataset(tables: Sequence[Table]) -> dict[str, list[Table]]:
    """Return the tables of each dataset, one for each pair of its groups."""
    return grouped(tables, lambda table: table.dataset)
