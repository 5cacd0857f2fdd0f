"""The disparity table in the form of the published study (Dhaini et al. 2025, Tables 3 and 4).

A cell counts the seeds with a significant difference between two groups, is bold where their mean
effect is considerable, and is coloured by the group with the higher scores.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from exparity.core.escaping import file_name
from exparity.report.gather import Study
from exparity.stats.seeds import SeedCounts, SeedSummary, count_seeds, summarise_seeds


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
        cells: by (model, method, metric).
    """

    dataset: str
    group_a: str
    group_b: str
    models: Sequence[str]
    methods: Sequence[str]
    metrics: Sequence[str]
    cells: Mapping[tuple[str, str, str], Cell]

    @property
    def name(self) -> str:
        """File name without suffix."""
        return file_name("disparity", self.dataset, self.group_a, self.group_b)

    def rows(self) -> Iterator[tuple[str, str, list[Cell]]]:
        """Yield model, method and cells in the order of the metrics."""
        for model in self.models:
            for method in self.methods:
                yield model, method, [self.cells[model, method, m] for m in self.metrics]


def cell_of_seeds(rows: Sequence[Mapping[str, Any]], threshold: float) -> Cell:
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
    grouped: dict[tuple[str, str, str], dict[tuple[str, str, str], list[Any]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in study.rows:
        table = row["dataset"], row["group_a"], row["group_b"]
        grouped[table][row["model"], row["method"], row["metric"]].append(row)
    order = list(study.datasets)
    threshold = study.statistics["threshold"]
    return [
        Table(
            dataset=dataset,
            group_a=group_a,
            group_b=group_b,
            models=[m for d, m in study.pairs if d == dataset],
            methods=list(study.methods),
            metrics=list(study.metrics),
            cells={key: cell_of_seeds(rows, threshold) for key, rows in cells.items()},
        )
        for (dataset, group_a, group_b), cells in sorted(
            grouped.items(), key=lambda item: order.index(item[0][0])
        )
    ]
