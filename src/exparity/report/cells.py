"""Where the artefacts of a grid lie."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from exparity.artefacts import layout
from exparity.report.gather import Study

Ids = tuple[str, str, int, str, str]
"""Dataset, model, seed, method and metric; the last two are empty where they do not apply."""


def artefact_paths(results: Path, study: Study, artefact: str) -> Iterator[tuple[Ids, Path]]:
    """Yield ids and path of every file that a grid has of an artefact, there or not.

    Args:
        results: folder of all results.
        study: the grid.
        artefact: ``data``, ``history``, ``predictions``, ``bias``, ``controls``,
            ``explanations``, ``scores``, ``tests``, or that of an analysis.
    """
    grid = {
        **vars(study),
        "controls": {"permutation": {"repeats": 1}},
        "analyses": dict.fromkeys(layout.made_by_analyses(), study.pairs),
    }
    for ids in layout.cells(grid, artefact):
        model, seed = ids.get("model", ""), ids.get("seed", 0)
        key = (ids.get("dataset", ""), model, seed, ids.get("method", ""), ids.get("metric", ""))
        yield key, results / layout.path_of(artefact, ids)
