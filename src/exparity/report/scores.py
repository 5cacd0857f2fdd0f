"""Summaries of the scores behind the tests: five numbers and a distribution for each group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from exparity.core.grouping import grouped
from exparity.report.gather import Ids, Study
from exparity.report.means import NEEDED, MeanLine, mean_lines
from exparity.report.ranges import is_constant
from exparity.report.reading import read_columns
from exparity.report.spreads import Spread, score_spread
from exparity.types import FloatArray


class ExampleScores(NamedTuple):
    """The scores of one file: (n,) values, and the place of each example among them."""

    places: Mapping[str, int]
    values: FloatArray

    def of(self, example: str) -> float | None:
        """Return the score of an example; None if it has none."""
        place = self.places.get(example)
        return None if place is None else float(self.values[place])


class FiveNumbers(NamedTuple):
    """How many scores a group has, and their minimum, quartiles and maximum."""

    n_scores: int
    quartiles: Sequence[float]


@dataclass(frozen=True)
class Distribution:
    """The scores of one cell and seed, by group; None for a group without scores."""

    numbers: Sequence[FiveNumbers | None]
    spreads: Sequence[Spread | None]


@dataclass(frozen=True)
class Scores:
    """The scores of a grid."""

    distributions: Mapping[Ids, Distribution]
    examples: Mapping[Ids, ExampleScores]  # of the first seed
    means: Sequence[MeanLine]


def read_study_scores(study: Study) -> Scores:
    """Read the scores of a grid."""
    distributions = {}
    examples = {}
    last: tuple[pa.ChunkedArray, Mapping[str, int]] | None = None
    means: list[MeanLine] = []
    random = grouped(study.files("random_scores"), lambda file: file[0][:2])
    for (dataset, model), files in grouped(study.files("scores"), lambda file: file[0][:2]).items():
        tables: dict[tuple[str, str], list[pa.Table]] = defaultdict(list)
        for ids, path in files:
            if not path.is_file():
                continue
            table = read_columns(path, "scores", NEEDED)
            _, _, seed, method, metric = ids
            tables[str(method), str(metric)].append(table)
            groups = table.column("group").to_numpy()
            scores = table.column("score").to_numpy()
            summary = distribution(scores, groups, study.declared(str(dataset)).parts)
            if summary is not None:
                distributions[ids] = summary
            if seed == study.seeds[0]:
                names = table["example_id"]
                if last is None or not names.equals(last[0]):  # most files have the same examples
                    last = names, {name: i for i, name in enumerate(names.to_pylist())}
                examples[ids] = ExampleScores(last[1], scores)
        metrics = {metric for _, metric in tables}
        for (*_, metric), path in random.get((dataset, model), ()):
            if metric in metrics and path.is_file():
                tables["", str(metric)].append(_mean_over_draws(path))
        means += mean_lines(str(dataset), str(model), tables, study.statistics.confidence)
    return Scores(distributions, examples, means)


def _mean_over_draws(path: Path) -> pa.Table:
    """Return the mean score of the random explanations of each example."""
    table = read_columns(path, "random_scores", NEEDED)
    means = table.group_by(NEEDED[:-1]).aggregate([("score", "mean")])
    return means.rename_columns([*NEEDED]).cast(table.schema)


def distribution(
    scores: FloatArray, groups: np.ndarray, order: Sequence[str]
) -> Distribution | None:
    """Summarise the scores of one cell by group; None if no score is defined.

    Scores that are equal up to rounding are shown as their median.
    """
    parts = [scores[(groups == group) & np.isfinite(scores)] for group in order]
    defined = [part for part in parts if len(part)]
    if not defined:
        return None
    low = float(min(map(np.min, defined)))
    high = float(max(map(np.max, defined)))
    if is_constant(low, high):
        median = float(np.median(np.concatenate(defined)))
        parts = [np.full_like(part, median) for part in parts]
    return Distribution([_five_numbers(part) for part in parts], [score_spread(x) for x in parts])


def _five_numbers(values: FloatArray) -> FiveNumbers | None:
    """Return the number of values and their quartiles; None if there are none."""
    if not len(values):
        return None
    return FiveNumbers(len(values), np.quantile(values, (0, 0.25, 0.5, 0.75, 1)).tolist())
