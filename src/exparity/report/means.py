"""Mean scores of methods by every metric, for data with and without groups."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from exparity.artefacts.columns import KEY
from exparity.artefacts.examples import Examples
from exparity.artefacts.exports import Export
from exparity.artefacts.files import facts_of
from exparity.artefacts.schemas import CUT_TEXTS
from exparity.core.grouping import grouped
from exparity.explanations.markup import decimals_of, number_text
from exparity.metrics.facts import Direction
from exparity.report.tables import CellKey
from exparity.stats.means import mean_score
from exparity.types import FloatArray, IntArray

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
    """The means of one dataset."""

    dataset: str
    models: Sequence[str]  # outer rows
    methods: Sequence[str]  # inner rows
    metrics: Sequence[str]  # columns
    lines: Mapping[CellKey, MeanLine]
    best: frozenset[CellKey]  # of each model’s methods by a metric
    random: Mapping[tuple[str, str], MeanLine]  # random explanations, by model and metric

    def text(self, line: MeanLine) -> str:
        """Return a mean in words, with as many decimals as the others of its metric."""
        return "undefined" if line.mean != line.mean else self._number(line, line.mean)

    def interval(self, line: MeanLine) -> str:
        """Return its interval in words; empty without one."""
        if line.ci_low != line.ci_low:
            return ""
        return f"{self._number(line, line.ci_low)} to {self._number(line, line.ci_high)}"

    def _number(self, line: MeanLine, value: float) -> str:
        every = (*self.lines.values(), *self.random.values())
        decimals = decimals_of(other.mean for other in every if other.metric == line.metric)
        return number_text(value, signed=False, decimals=decimals)

    @property
    def n_cut(self) -> int:
        """Most texts of any line that its model read in part."""
        return max((line.n_cut for line in self.lines.values()), default=0)

    def rows(self) -> Iterator[tuple[str, str, list[MeanLine | None]]]:
        """Yield model, method and lines in the order of the metrics, None where one is missing.

        Random explanations follow the methods of a model, with an empty name.
        """
        for model in self.models:
            for method in self.methods:
                lines = [self.lines.get((model, method, metric)) for metric in self.metrics]
                if any(lines):
                    yield model, method, lines
            if any(random := [self.random.get((model, metric)) for metric in self.metrics]):
                yield model, "", random


class ModelScores:
    """The scores of one model on one dataset, by method, metric and seed."""

    def __init__(self) -> None:
        self._examples = Examples()
        self._scores: dict[tuple[str, str], list[tuple[IntArray, FloatArray]]] = defaultdict(list)
        self._bounds: dict[tuple[str, str], tuple[float, float]] = {}
        self._cut: dict[tuple[str, str], int] = defaultdict(int)

    def add(self, method: str, metric: str, path: Path, table: pa.Table) -> None:
        """Add what one training's explanations by a method score."""
        places = self._examples.places(table)
        self._scores[method, metric].append((places, table["score"].to_numpy()))
        facts = facts_of(table.schema.metadata)
        self._bounds[method, metric] = tuple(facts.get("bounds", _NO_BOUNDS))
        cut = facts.get("notes", {}).get(CUT_TEXTS, 0)
        self._cut[method, metric] = max(self._cut[method, metric], cut)

    def lines(self, dataset: str, model: str, confidence: float) -> Iterator[MeanLine]:
        """Yield the mean of each method and metric, in the order in which they were added."""
        for (method, metric), of_seeds in self._scores.items():
            scores = np.full((len(of_seeds), len(self._examples)), np.nan)
            for row, (places, values) in zip(scores, of_seeds, strict=True):
                row[places] = values
            undefined = sum(int(np.isnan(values).sum()) for _, values in of_seeds)
            mean = mean_score(
                scores,
                self._examples.sets,
                confidence=confidence,
                bounds=self._bounds[method, metric],
            )
            yield MeanLine(
                dataset,
                model,
                method,
                metric,
                n_undefined=undefined,
                n_cut=self._cut[method, metric],
                **vars(mean),
            )


def mean_tables(
    lines: Sequence[MeanLine],
    directions: Mapping[str, Direction],
    random: Sequence[MeanLine] = (),
) -> list[MeanTable]:
    """Return a table for each dataset, everything in the order of the lines."""
    return [
        MeanTable(
            dataset=dataset,
            models=list(dict.fromkeys(line.model for line in of)),
            methods=list(dict.fromkeys(line.method for line in of)),
            metrics=list(dict.fromkeys(line.metric for line in of)),
            lines={_key(line): line for line in of},
            best=_best(of, directions),
            random={(r.model, r.metric): r for r in random if r.dataset == dataset},
        )
        for dataset, of in grouped(lines, lambda line: line.dataset).items()
    ]


def mean_exports(lines: Sequence[MeanLine]) -> list[Export]:
    """Return the means as a table to download; none without any."""
    return [Export.of(MEANS, "Means of the scores", MeanLine, lines)] if lines else []


def _key(line: MeanLine) -> CellKey:
    return line.model, line.method, line.metric


def _best(lines: Sequence[MeanLine], directions: Mapping[str, Direction]) -> frozenset[CellKey]:
    """Return the lines with the best mean of a model by a metric, of several methods."""
    known = [line for line in lines if line.mean == line.mean and line.metric in directions]
    best: set[CellKey] = set()
    for (_, metric), of in grouped(known, lambda line: (line.model, line.metric)).items():
        choose = max if directions[metric] == "higher" else min
        top = choose(line.mean for line in of)
        best |= {_key(line) for line in of if line.mean == top and len(of) > 1}
    return frozenset(best)
