"""Analysis correctness: scores of one classifier's explanations, on all and on correct examples."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from exparity.analyses import ExperimentView, analysis, fields
from exparity.analyses.correctness._performance import performance
from exparity.analyses.correctness.section import findings
from exparity.artefacts.files import write_artefact
from exparity.core.errors import InputError
from exparity.core.flags import Output
from exparity.stages.cell import cell_of, read_examples, read_scores, require_same_cell


def _settle(experiment: ExperimentView, ids: Mapping[str, Any]) -> dict[str, Any]:
    if not experiment.metrics_that_need("rationale"):
        raise InputError(
            "analyses.correctness: no metric compares explanations with rationales; add one to "
            "metrics, such as mass_accuracy"
        )
    return {}


@analysis(
    "correctness",
    level="seed",
    reads=("scores", "predictions"),
    artefact="correctness",
    columns=fields(
        ("subset", pa.string()),
        ("group", pa.string()),
        ("n", pa.int64()),
        ("n_undefined", pa.int64()),
        ("mean", pa.float64()),
        ("sd", pa.float64()),
        ("median", pa.float64()),
    ),
    keys=("method", "metric", "subset", "group"),
    ids=("method", "metric"),
    metric_needs="rationale",
    needs_rationales=True,
    settle=_settle,
    section=findings,
)
def correctness_cell(scores: Sequence[Path], predictions: Path, output: Output) -> None:
    """Describe the scores of every method and metric, on the examples of each subset.

    Args:
        scores: scores artefacts of one dataset, model and seed; one per method and metric.
        predictions: the predictions artefact of the same.
        output: the correctness artefact to write.

    Raises:
        InputError: a file does not hold what was written, is of another trained classifier, or
            holds an example without a prediction.
    """
    start = time.monotonic()
    table, metadata = read_examples(predictions, "predictions")
    ids = cell_of(metadata)
    columns = table.select(["example_id", "predicted", "label"]).to_pylist()
    right = {row["example_id"]: row["predicted"] == row["label"] for row in columns}
    rows: list[dict[str, Any]] = []
    facts: dict[str, Any] = {}
    for path in scores:
        table, metadata = read_scores(path)
        require_same_cell((predictions, ids), (path, metadata["wildcards"]))
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
