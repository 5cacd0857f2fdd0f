"""Analysis correctness: scores of one classifier's explanations, on all and on correct examples."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from exparity.analyses import ExperimentView, analysis, fields
from exparity.analyses._reading import read_all
from exparity.analyses.correctness._performance import Performance, performance
from exparity.analyses.correctness.section import findings
from exparity.artefacts.files import write_artefact
from exparity.artefacts.schemas import record_columns
from exparity.core.errors import InputError
from exparity.core.flags import Output
from exparity.stages.cell import cell_of, read_examples


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
    columns=fields(*record_columns(Performance).items()),
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
    for path, table, metadata in read_all("correctness", "scores", scores, (predictions, ids)):
        facts = {"groups": metadata["groups"], "attribute": metadata["attribute"]}
        examples = table.column("example_id").to_pylist()
        missing = set(examples) - right.keys()
        if missing:
            raise InputError(
                f"{predictions}: has no prediction for example '{min(missing)}' of {path}; run "
                "finetune again on this data"
            )
        cell = {name: metadata["wildcards"][name] for name in ("method", "metric")}
        parts = performance(
            table.column("score").to_numpy(),
            [right[example] for example in examples],
            table.column("group").to_pylist(),
            metadata["groups"],
            table.column("match_id").to_pylist(),
        )
        rows += [{**cell, **asdict(part)} for part in parts]
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
