"""Where the artefacts of a grid lie."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from exparity.artefact_schemas import ANALYSES
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
    if artefact in ("data", "dataset_bias"):
        for dataset in study.datasets:
            yield (dataset, "", 0, "", ""), results / artefact / f"{dataset}.parquet"
        return
    for dataset, model in study.pairs:
        for seed in study.seeds:
            cell = Path(dataset) / model / str(seed)
            if artefact == "history":
                yield (dataset, model, seed, "", ""), results / "models" / cell / "history.parquet"
            elif artefact in ("predictions", "bias", "controls", *ANALYSES.values()):
                path = (results / artefact / cell).with_suffix(".parquet")
                yield (dataset, model, seed, "", ""), path
            else:
                for method in study.methods:
                    folder = results / artefact / cell
                    if artefact == "explanations":
                        yield (dataset, model, seed, method, ""), folder / f"{method}.parquet"
                        continue
                    for metric in study.metrics:
                        path = folder / method / f"{metric}.parquet"
                        yield (dataset, model, seed, method, metric), path
