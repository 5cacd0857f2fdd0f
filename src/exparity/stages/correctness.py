"""Stage correctness: scores of one classifier's explanations, on all and on correct examples."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from exparity.artifacts import read_artefact, write_artefact
from exparity.errors import InputError
from exparity.stats.correctness import performance

_CELL = ("dataset", "model", "seed")


def correctness_cell(scores: Sequence[Path], predictions: Path, output: Path) -> None:
    """Describe the scores of every method and metric, on the examples of each subset.

    Args:
        scores: scores artefacts of one dataset, model and seed; one per method and metric.
        predictions: the predictions artefact of the same.
        output: the correctness artefact.

    Raises:
        InputError: a file names no groups, is of another trained classifier, or holds an example
            without a prediction.
    """
    start = time.monotonic()
    table, metadata = read_artefact(predictions, "predictions")
    ids = {name: metadata["wildcards"][name] for name in _CELL}
    columns = table.select(["example_id", "predicted", "label"]).to_pylist()
    right = {row["example_id"]: row["predicted"] == row["label"] for row in columns}
    rows: list[dict[str, Any]] = []
    facts: dict[str, Any] = {}
    for path in scores:
        table, metadata = read_artefact(path, "scores")
        found = {name: metadata["wildcards"][name] for name in _CELL}
        if found != ids:
            raise InputError(
                f"{path}: is of {_text(found)}, but {predictions} is of {_text(ids)}; give files "
                "of one trained classifier"
            )
        if "groups" not in metadata:
            raise InputError(f"{path}: names no groups; make it with `exparity evaluate`")
        facts = {"groups": metadata["groups"], "attribute": metadata["attribute"]}
        given = table.to_pydict()
        missing = set(given["example_id"]) - right.keys()
        if missing:
            raise InputError(
                f"{predictions}: has no prediction for example '{min(missing)}' of {path}; run "
                "finetune again on this data"
            )
        cell = {name: metadata["wildcards"][name] for name in ("method", "metric")}
        rows += [
            {**cell, **asdict(part)}
            for part in performance(
                given["score"],
                [right[key] for key in given["example_id"]],
                given["group"],
                metadata["groups"],
                given["match_id"],
            )
        ]
    if not rows:
        raise InputError("correctness: needs at least one scores artefact")
    write_artefact(
        output,
        "correctness",
        rows,
        ids,
        stage="correctness",
        parameters={},
        seconds=time.monotonic() - start,
        extra=facts,
    )


def _text(ids: dict[str, Any]) -> str:
    return f"{ids['dataset']}, {ids['model']}, seed {ids['seed']}"
