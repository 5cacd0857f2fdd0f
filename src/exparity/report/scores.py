"""The scores behind the tests, summed up for plots: five numbers and a density for each group."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from exparity.artefacts.schemas import check_schema
from exparity.artefacts.seal import open_sealed
from exparity.interface import FloatArray
from exparity.report.cells import Ids, artefact_paths
from exparity.report.gather import Study

log = logging.getLogger(__name__)

POINTS = 32
"""Points of a density."""
_BINS = 256
_HEIGHT = 99


@dataclass(frozen=True)
class Summary:
    """The defined scores of one group.

    Attributes:
        n: how many.
        numbers: minimum, quartiles and maximum.
        density: (:data:`POINTS`,) heights at even steps over the range of all groups of the cell,
            in 0 to 99; 99 is the highest density of any group. Empty if all scores are equal.
    """

    n: int
    numbers: tuple[float, float, float, float, float]
    density: tuple[int, ...]


@dataclass(frozen=True)
class Distribution:
    """The scores of one cell.

    Attributes:
        low: smallest score of any group: where densities start.
        high: largest score.
        groups: by group; only groups with a defined score.
    """

    low: float
    high: float
    groups: Mapping[str, Summary]


@dataclass(frozen=True)
class Scores:
    """The scores of a grid.

    Attributes:
        distributions: by cell.
        metadata: raw provenance of each file, by cell.
        missing: files that are not there; their cells have no distribution.
        examples: scores by cell and example id, of the cells that were asked for.
    """

    distributions: Mapping[Ids, Distribution]
    metadata: Mapping[Ids, Mapping[bytes, bytes]]
    missing: Sequence[Path]
    examples: Mapping[Ids, Mapping[str, float]]


def read_scores(results: Path, study: Study, keep_seeds: Sequence[int] = ()) -> Scores:
    """Read the scores of a grid.

    Args:
        results: folder of all results.
        study: the grid.
        keep_seeds: seeds whose single scores are kept, not only their distributions.

    Raises:
        InputError: a file is damaged or no such artefact. One that is not there is listed.
    """
    distributions, metadata, examples, missing = {}, {}, {}, []
    for ids, path in artefact_paths(results, study, "scores"):
        kept = ids[2] in keep_seeds
        columns = ["group", "score", "example_id"] if kept else ["group", "score"]
        if not path.is_file():
            missing.append(path)
            continue
        table, metadata[ids] = _read(path, columns)
        groups = table["group"].to_numpy(zero_copy_only=False)
        scores = table["score"].to_numpy(zero_copy_only=False)
        summary = distribution(scores, groups, study.declared(ids[0]).groups)
        if summary is not None:
            distributions[ids] = summary
        if kept:
            names = table["example_id"].to_pylist()
            examples[ids] = dict(zip(names, scores.tolist(), strict=True))
    if missing:
        log.warning("%d files of scores are not there, such as %s", len(missing), missing[0])
    return Scores(distributions, metadata, missing, examples)


def _read(path: Path, columns: Sequence[str]) -> tuple[pa.Table, Mapping[bytes, bytes]]:
    with open_sealed(path) as file:
        schema = file.schema_arrow
        check_schema(path, "scores", schema)
        # These files are small: threads would cost more than they save.
        return file.read(columns=list(columns), use_threads=False), schema.metadata or {}


def distribution(
    scores: FloatArray, groups: np.ndarray, order: Sequence[str]
) -> Distribution | None:
    """Sum up the scores of one cell.

    Args:
        scores: (n,) scores; those that are NaN or infinite are left out.
        groups: (n,) group of each.
        order: groups in the order of the dataset.

    Returns:
        The summary; None if no score is defined.
    """
    parts = {g: scores[(groups == g) & np.isfinite(scores)] for g in order}
    parts = {group: part for group, part in parts.items() if len(part)}
    if not parts:
        return None
    low = float(min(part.min() for part in parts.values()))
    high = float(max(part.max() for part in parts.values()))
    numbers = {group: _five(part) for group, part in parts.items()}
    densities = (
        {g: _density(part, numbers[g][3] - numbers[g][1], low, high) for g, part in parts.items()}
        if high > low
        else {}
    )
    top = max((d.max() for d in densities.values()), default=0.0)
    return Distribution(
        low,
        high,
        {
            group: Summary(
                n=len(part),
                numbers=numbers[group],
                density=tuple(np.rint(_HEIGHT * densities[group] / top).astype(int).tolist())
                if group in densities
                else (),
            )
            for group, part in parts.items()
        },
    )


def _five(values: FloatArray) -> tuple[float, float, float, float, float]:
    a, b, c, d, e = (float(x) for x in np.quantile(values, (0, 0.25, 0.5, 0.75, 1)))
    return a, b, c, d, e


def _density(values: FloatArray, iqr: float, low: float, high: float) -> FloatArray:
    """Return a Gaussian kernel density of values at even steps from low to high, unscaled.

    The width is Silverman's (1986), but at least the distance of two points. Values are put into
    narrow bins first, which no plot can tell from the exact density.
    """
    sd = float(values.std())
    spread = min(sd, iqr / 1.34) or sd
    span = high - low
    width = max(0.9 * spread * len(values) ** -0.2, span / POINTS)
    # A value at the upper end belongs to the last bin.
    bins = np.minimum(((values - low) / span * _BINS).astype(int), _BINS - 1)
    counts = np.bincount(bins, minlength=_BINS) / len(values)
    centres = low + (np.arange(_BINS) + 0.5) * span / _BINS
    points = np.linspace(low, high, POINTS)
    kernel = np.exp(-0.5 * ((points[:, None] - centres[None, :]) / width) ** 2) / width
    density: FloatArray = kernel @ counts
    return density
