"""The one table of paths and ids of artefacts below the results folder.

Which files an experiment has, says its :class:`exparity.artefacts.grid.Grid`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from exparity.artefacts.analyses import ANALYSES, analysis_making
from exparity.artefacts.grid import Grid
from exparity.artefacts.ids import Ids
from exparity.core.errors import InputError, did_you_mean

_CELL = "{dataset}/{model}/{seed}"
PATHS = {
    "data": "data/{dataset}.parquet",
    "models": f"models/{_CELL}",
    "history": f"models/{_CELL}/history.parquet",
    "training_set": f"models/{_CELL}/training_set.parquet",
    "predictions": f"predictions/{_CELL}.parquet",
    "explanations": f"explanations/{_CELL}/{{method}}.parquet",
    "scores": f"scores/{_CELL}/{{method}}/{{metric}}.parquet",
    "cost": "cost.parquet",
}
"""Path of every artefact, relative to the results folder; those of analyses are in the registry."""
STAGES: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "prepare": ((), ("data",)),
    "finetune": (("data",), ("predictions", "models")),
    "explain": (("data", "predictions"), ("explanations",)),
    "evaluate": (
        ("data", "explanations", "counterfactuals", "foresight", "predictions"),
        ("scores",),
    ),
}
"""Artefacts that a job of each stage reads and makes; stages come after those they need. Whether a
job of a metric reads counterfactuals, foresight and predictions depends on it; the experiment
knows.

A checkpoint is not among what is read: the predictions made with it stand for it."""
REPORT = {"page": "report/index.html", "tables": "report/tables", "figures": "report/figures"}
"""Output of the report: files and folders that are no artefacts."""
_IN_REPORT = ("data", "predictions", "explanations", "scores")


@cache
def pattern_of(artefact: str) -> str:
    """Return the path of an artefact, relative to the results folder, with its ids in braces."""
    path = PATHS.get(artefact) or REPORT.get(artefact)
    if path is not None:
        return path
    entry = analysis_making(artefact)
    if entry is None:
        artefact_names = [*PATHS, *of_analyses()]
        raise InputError(f"unknown artefact '{artefact}'; {did_you_mean(artefact, artefact_names)}")
    return "/".join([artefact, *(f"{{{level}}}" for level in entry.facts.levels)]) + ".parquet"


def maker_of(artefact: str) -> str:
    """Return the stage or analysis that makes an artefact."""
    if artefact not in PATHS:
        entry = analysis_making(artefact)
        return entry.id if entry else artefact
    folder = PATHS[artefact].partition("/")[0]  # a history lies beside the model
    return next((stage for stage, (_, names) in STAGES.items() if folder in names), artefact)


def of_analyses() -> list[str]:
    """Return every artefact of the registered analyses."""
    return [artefact for name in ANALYSES.ids() for artefact in ANALYSES.get(name).facts.writes]


def levels(artefact: str) -> tuple[str, ...]:
    """Return the ids in an artefact's path: those that each of its files has one of."""
    return tuple(re.findall(r"\{(\w+)\}", pattern_of(artefact)))


def stem_of(rule: str, artefact: str) -> str:
    """Return the path of a rule's logs: its name, then the artefact's ids."""
    return "/".join([rule, *(f"{{{level}}}" for level in levels(artefact))])


def every(artefact: str) -> str:
    """Return a pattern of all files of an artefact, as :meth:`pathlib.Path.glob` takes it."""
    return re.sub(r"\{\w+\}", "*", pattern_of(artefact))


def path_of(artefact: str, ids: Mapping[str, str | int]) -> str:
    """Return where an artefact lies, relative to the results folder."""
    return pattern_of(artefact).format(**ids)


def files(results: Path, artefact: str) -> list[tuple[tuple[str, ...], Path]]:
    """Return the files that there are of an artefact with their ids, sorted.

    Hidden ones are work in progress.
    """
    place = re.compile(re.sub(r"\\{\w+\\}", "([^/]+)", re.escape(pattern_of(artefact))))
    paths = {path.relative_to(results).as_posix(): path for path in results.glob(every(artefact))}
    return sorted(
        (match.groups(), path)
        for name, path in paths.items()
        if "/." not in name and (match := place.fullmatch(name)) is not None
    )


def cells(grid: Grid, artefact: str) -> Iterator[Ids]:
    """Yield the ids of every file that a grid has of an artefact."""
    names = levels(artefact)
    named, targets = _targets(grid, artefact)
    free = [name for name in names if name not in named]
    places = [(name, (*named, *free).index(name)) for name in names]
    spans = cache(lambda dataset: [_axis(grid, name, dataset) for name in free])
    for target in dict.fromkeys(tuple(target[: len(named)]) for target in targets):
        dataset = target[0] if target else ""
        for rest in product(*spans(dataset)):
            ids = (*target, *rest)
            cell = Ids({name: ids[place] for name, place in places})
            if cell.get("metric") not in grid.unmeasured.get(str(cell.get("method", "")), ()):
                yield cell


def paths_of(results: Path, grid: Grid, artefact: str) -> list[Path]:
    """Return the path of every file that a grid has of an artefact, there or not."""
    return [results / path_of(artefact, ids) for ids in cells(grid, artefact)]


def report_inputs(grid: Grid) -> Iterator[tuple[str, Ids]]:
    """Yield artefact and ids of every file that the report of a grid is made from."""
    for artefact in (*_IN_REPORT, *of_analyses()):
        for ids in cells(grid, artefact):
            yield artefact, ids


def report_files(results: str | Path, grid: Grid) -> list[str]:
    """Return every file that the report of a grid reads."""
    return [f"{results}/{path_of(artefact, ids)}" for artefact, ids in report_inputs(grid)]


def _targets(grid: Grid, artefact: str) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Return the ids that an artefact is not made in every combination of, and those there are."""
    entry = None if artefact in PATHS else analysis_making(artefact)
    if entry is not None:
        return entry.facts.target, grid.analyses.get(entry.id, ())
    return [name for name in levels(artefact) if name in ("dataset", "model")], grid.pairs


def _axis(grid: Grid, name: str, dataset: str) -> list[Any]:
    if name == "seed":
        return [*grid.seeds]
    return grid.applying(f"{name}s", dataset)
