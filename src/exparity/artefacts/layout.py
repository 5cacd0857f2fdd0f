"""Where artefacts lie below the results folder.

A grid is what :meth:`exparity.config.Experiment.report_options` says of an experiment: its
``pairs`` of dataset and model, ``seeds``, ``methods``, ``metrics``, ``controls`` and ``analyses``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

Ids = Mapping[str, str | int]
Grid = Mapping[str, Any]

_CELL = "{dataset}/{model}/{seed}"
PATHS = {
    "data": "data/{dataset}.parquet",
    "models": f"models/{_CELL}",
    "history": f"models/{_CELL}/history.parquet",
    "training_set": f"models/{_CELL}/training_set.parquet",
    "predictions": f"predictions/{_CELL}.parquet",
    "explanations": f"explanations/{_CELL}/{{method}}.parquet",
    "scores": f"scores/{_CELL}/{{method}}/{{metric}}.parquet",
    "tests": f"tests/{_CELL}/{{method}}/{{metric}}.parquet",
    "bias": f"bias/{_CELL}.parquet",
    "controls": f"controls/{_CELL}.parquet",
    "correctness": f"correctness/{_CELL}.parquet",
    "attribution_differences": f"attribution_differences/{_CELL}.parquet",
    "dataset_bias": "dataset_bias/{dataset}.parquet",
    "mlm_scores": f"mlm_scores/{_CELL}.parquet",
    "disparity": "report/disparity.parquet",
    "cost": "cost.parquet",
}
"""Path of every artefact, relative to the results folder."""
GRID = "grid.json"
"""File of the results folder that holds the grid of the last run."""
ANALYSES = {
    "correctness": "correctness",
    "attribution_difference": "attribution_differences",
    "dataset_bias": "dataset_bias",
    "mlm_score": "mlm_scores",
}
"""The artefact that each analysis makes."""
IN_REPORT = (
    *("data", "predictions", "explanations", "scores", "tests", "bias", "controls"),
    *ANALYSES.values(),
)
"""What the report is made from."""


def levels(artefact: str) -> tuple[str, ...]:
    """Return the ids in an artefact's path: those that each of its files has one of."""
    return tuple(re.findall(r"\{(\w+)\}", PATHS[artefact]))


def path_of(artefact: str, ids: Ids) -> str:
    """Return where an artefact lies, relative to the results folder."""
    return PATHS[artefact].format(**ids)


def files(results: Path, artefact: str) -> list[tuple[tuple[str, ...], Path]]:
    """Return the files that there are of an artefact with their ids, sorted.

    Hidden ones are work in progress.
    """
    place = re.compile(re.sub(r"\\{\w+\\}", "([^/]+)", re.escape(PATHS[artefact])))
    pattern = re.sub(r"\{\w+\}", "*", PATHS[artefact])
    paths = {path.relative_to(results).as_posix(): path for path in results.glob(pattern)}
    visible = {name: path for name, path in paths.items() if "/." not in name}
    return sorted(
        (match.groups(), path)
        for name, path in visible.items()
        if (match := place.fullmatch(name)) is not None
    )


def benchmark_of(rule: str, ids: Iterable[str]) -> str:
    """Return where Snakemake's benchmark of a job lies, relative to the results folder."""
    return f"{'/'.join(('benchmarks', rule, *ids))}.tsv"


def cells(grid: Grid, artefact: str) -> Iterator[dict[str, Any]]:
    """Yield the ids of every file that a grid has of an artefact."""
    names = levels(artefact)
    if artefact == "controls" and not _has_controls(grid):
        return
    spans = [_axis(grid, name) for name in names if name not in ("dataset", "model")]
    for target in dict.fromkeys(tuple(target[: len(names)]) for target in _targets(grid, artefact)):
        for rest in product(*spans):
            yield dict(zip(names, (*target, *rest), strict=True))


def report_inputs(grid: Grid) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield artefact and ids of every file that the report of a grid is made from."""
    for artefact in IN_REPORT:
        for ids in cells(grid, artefact):
            yield artefact, ids


def _targets(grid: Grid, artefact: str) -> Sequence[Sequence[str]]:
    """Return the pairs of dataset and model, or the datasets, that an artefact is made for."""
    for analysis, made in ANALYSES.items():
        if made == artefact:
            targets: Sequence[Sequence[str]] = grid.get("analyses", {}).get(analysis, [])
            return targets
    pairs: Sequence[Sequence[str]] = grid["pairs"]
    return pairs


def _axis(grid: Grid, name: str) -> list[Any]:
    return list(grid["seeds"] if name == "seed" else dict(grid[f"{name}s"]))


def _has_controls(grid: Grid) -> bool:
    return bool(grid.get("controls", {}).get("permutation", {}).get("repeats"))
