"""Summaries of the scores behind the tests: five numbers and a density for each group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from exparity.artefacts.schemas import check_schema
from exparity.artefacts.seal import open_sealed
from exparity.core.grouping import grouped
from exparity.report.gather import Ids, Study
from exparity.report.means import NEEDED, MeanLine, mean_lines
from exparity.report.ranges import is_constant, shares_of
from exparity.types import FloatArray

POINTS = 32
"""Points of a density."""
_BINS = 256
_HEIGHT = 99


class ExampleScores(NamedTuple):
    """The scores of one file: (n,) values, and the place of each example among them."""

    places: Mapping[str, int]
    values: FloatArray

    def of(self, example: str) -> float | None:
        """Return the score of an example; None if it has none."""
        place = self.places.get(example)
        return None if place is None else float(self.values[place])


@dataclass(frozen=True)
class Scores:
    """The scores of a grid."""

    distributions: Mapping[Ids, list[Any]]  # see :func:`distribution`
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
            table = read_columns(path, *NEEDED)
            _, _, seed, method, metric = ids
            tables[str(method), str(metric)].append(table)
            groups, scores = (table[name].to_numpy() for name in ("group", "score"))
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
        means += mean_lines(str(dataset), str(model), tables, study.statistics["confidence"])
    return Scores(distributions, examples, means)


def _mean_over_draws(path: Path) -> pa.Table:
    """Return the mean score of the random explanations of each example."""
    table = read_columns(path, *NEEDED, artefact="random_scores")
    means = table.group_by(NEEDED[:-1]).aggregate([("score", "mean")])
    return means.rename_columns([*NEEDED]).cast(table.schema)


def read_columns(path: Path, *columns: str, artefact: str = "scores") -> pa.Table:
    """Return columns of a file of scores."""
    with open_sealed(path) as file:
        check_schema(path, artefact, file.schema_arrow)
        # These files are small: threads would cost more than they save.
        return file.read(columns=list(columns), use_threads=False)


def distribution(scores: FloatArray, groups: np.ndarray, order: Sequence[str]) -> list[Any] | None:
    """Summarise the scores of one cell for the page's script; None if none is defined.

    Scores that are equal up to rounding are told as their median, without a density.
    """
    parts = [scores[(groups == group) & np.isfinite(scores)] for group in order]
    defined = [part for part in parts if len(part)]
    if not defined:
        return None
    low, high = float(min(map(np.min, defined))), float(max(map(np.max, defined)))
    if is_constant(low, high):
        low = high = float(np.median(np.concatenate(defined)))
        parts = [np.full_like(part, low) for part in parts]
    densities = [_density(part, low, high) if len(part) and high > low else [] for part in parts]
    top = max((height for density in densities for height in density), default=0.0)
    summaries = [
        [
            len(part),
            np.quantile(part, (0, 0.25, 0.5, 0.75, 1)).tolist(),
            [round(_HEIGHT * height / top) for height in density],
        ]
        if len(part)
        else None
        for part, density in zip(parts, densities, strict=True)
    ]
    return [low, high, summaries]


def _density(values: FloatArray, low: float, high: float) -> list[float]:
    """Return a Gaussian kernel density of values at even steps from low to high, unscaled.

    The width is Silverman's (1986), but at least the distance of two points. Values are put into
    narrow bins first, which no plot can tell from the exact density.
    """
    shares = shares_of(values, low, high)
    sd = float(shares.std())
    q1, q3 = np.quantile(shares, (0.25, 0.75)).tolist()
    spread = min(sd, (q3 - q1) / 1.34) or sd
    width = max(0.9 * spread * len(shares) ** -0.2, 1 / POINTS)
    counts, edges = np.histogram(shares, _BINS, (0.0, 1.0))
    centres = (edges[:-1] + edges[1:]) / 2
    points = np.linspace(0.0, 1.0, POINTS)
    kernel = np.exp(-0.5 * ((points[:, None] - centres[None, :]) / width) ** 2) / width
    density: list[float] = (kernel @ counts / len(shares)).tolist()
    return density
