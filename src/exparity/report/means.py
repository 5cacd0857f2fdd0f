"""Mean scores of methods by every metric, for data with and without groups."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from exparity.artefacts.columns import KEY, Examples
from exparity.artefacts.files import facts_of
from exparity.artefacts.ids import Provenance
from exparity.artefacts.schemas import CUT_TEXTS
from exparity.core.grouping import grouped
from exparity.core.plain import as_int, as_mapping
from exparity.explanations.markup import number_text
from exparity.report.tables import CellKey
from exparity.stats.means import mean_score

NEEDED = (*(field.name for field in KEY), "score")
"""Columns of a scores artefact that means are taken from."""
MEANS = "means"
"""Name of their table."""
_NO_BOUNDS = (-math.inf, math.inf)


@dataclass(frozen=True)
class MeanLine:
    """The mean of a method's scores by one metric; see :class:`~exparity.stats.means.MeanScore`."""

    dataset: str
    model: str
    method: str
    metric: str
    n_seeds: int
    n_examples: int
    n_undefined: int  # of all trainings
    n_cut: int  # most texts of a training that its model read in part
    mean: float
    ci_low: float
    ci_high: float


@dataclass(frozen=True)
class MeanTable:
    """The means of one dataset, each model's methods before its random explanations."""

    dataset: str
    metrics: Sequence[str]  # columns
    lines: Mapping[CellKey, MeanLine]  # random explanations have an empty method

    def text(self, line: MeanLine) -> str:
        """Return a mean in words."""
        return "undefined" if line.mean != line.mean else self._number(line, line.mean)

    def interval(self, line: MeanLine) -> str:
        """Return its interval in words; empty without one."""
        if line.ci_low != line.ci_low:
            return ""
        return f"{self._number(line, line.ci_low)} to {self._number(line, line.ci_high)}"

    def _number(self, line: MeanLine, value: float) -> str:
        numbers = (abs(number) for number in (line.mean, line.ci_low, line.ci_high))
        largest = max((number for number in numbers if math.isfinite(number)), default=0.0)
        return number_text(value, signed=False, like=largest)

    def rows(self) -> Iterator[tuple[str, str, list[MeanLine | None]]]:
        """Yield model, method and lines in the order of the metrics, None where one is missing."""
        for model, method in dict.fromkeys(key[:2] for key in self.lines):
            yield model, method, [self.lines.get((model, method, k)) for k in self.metrics]


def mean_lines(
    dataset: str, model: str, files: Mapping[tuple[str, str], Sequence[pa.Table]], confidence: float
) -> Iterator[MeanLine]:
    """Yield the mean of each method and metric of a model.

    ``files`` has a table of scores for each training.
    """
    examples = Examples()
    placed = {
        cell: [(examples.places(table), table) for table in tables]
        for cell, tables in files.items()
    }
    for (method, metric), tables in placed.items():
        scores = np.full((len(tables), len(examples)), np.nan)
        facts = []
        n_undefined = 0
        for row, (places, table) in zip(scores, tables, strict=True):
            row[places] = table["score"].to_numpy()
            n_undefined += int(np.isnan(row[places]).sum())
            facts.append(Provenance(facts_of(table.schema.metadata)))
        bounds = facts[-1].bounds or _NO_BOUNDS
        mean = mean_score(scores, examples.sets, confidence=confidence, bounds=bounds)
        n_cut = max(
            as_int(as_mapping(file_facts.get("notes", {})).get(CUT_TEXTS, 0))
            for file_facts in facts
        )
        ids = (dataset, model, method, metric)
        yield MeanLine(*ids, n_undefined=n_undefined, n_cut=n_cut, **vars(mean))


def mean_tables(lines: Sequence[MeanLine]) -> list[MeanTable]:
    """Return a table for each dataset, everything in the order of the lines."""
    tables = []
    for dataset, members in grouped(lines, lambda line: line.dataset).items():
        by_metric = grouped(members, lambda line: line.metric)
        tables.append(
            MeanTable(
                dataset,
                metrics=list(by_metric),
                lines={(line.model, line.method, line.metric): line for line in members},
            )
        )
    return tables
