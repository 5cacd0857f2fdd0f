"""Stage adjusted_gaps: all scores of one classifier to gaps at equal class, length and so on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from exparity.artefacts.analyses import ExperimentView
from exparity.artefacts.columns import fields, record_columns
from exparity.artefacts.files import read_artefact
from exparity.artefacts.running import Made, analysis
from exparity.core.errors import InputError
from exparity.core.settings import Statistics
from exparity.stages.cell import cell_of, compared_in, read_examples, require_same_cell
from exparity.stages.reading import predicted_examples, read_all
from exparity.stats.adjusted import AdjustedGap, adjusted_gaps
from exparity.types import FloatArray


def _settle(experiment: ExperimentView, ids: Mapping[str, Any]) -> dict[str, Any]:
    """Take the options from how groups are compared, and the class that is explained.

    Of ``overrides`` only those count that name neither a method nor a metric.
    """
    return {
        "confidence": experiment.statistics(ids)["confidence"],
        "target": experiment.config["target"],
    }


@analysis(
    "adjusted_gaps",
    level="seed",
    reads=("data", "predictions", "scores"),
    artefact="adjusted_gaps",
    columns=fields(*record_columns(AdjustedGap).items()),
    keys=("method", "metric", "group_a", "group_b", "adjustment"),
    ids=("method", "metric"),
    display="Adjusted gaps",
    always=True,
    settle=_settle,
)
def adjusted_gaps_cell(
    data: Path,
    predictions: Path,
    scores: Sequence[Path],
    *,
    confidence: float = Statistics.confidence,
    target: Literal["label", "predicted"] = "label",
) -> Made:
    """Estimate the gap of every method and metric at equal class, length and confidence.

    Args:
        data: the data artefact, which has the texts' words.
        predictions: the predictions artefact.
        scores: scores artefacts of one dataset, model and seed; one per method and metric.
        confidence: coverage of the intervals.
        target: the class whose probability is the classifier's confidence: the true or the
            predicted one.

    Raises:
        InputError: a file does not hold what was written, is of another trained classifier, or
            holds an example without a prediction or a text; or an option is out of range.
    """
    texts, declared = read_artefact(data, "data")
    predicted, metadata = read_examples(predictions, "predictions")
    ids = cell_of(metadata)
    require_same_cell((data, declared.get("wildcards", {})), (predictions, ids))
    positions, covariates = _covariates(data, texts, predictions, predicted, target)
    rows: list[dict[str, Any]] = []
    facts: dict[str, Any] = {}
    for path, table, metadata in read_all("adjusted_gaps", "scores", scores, (predictions, ids)):
        facts = compared_in(metadata)
        examples = predicted_examples(table, path, positions, predictions)
        places = [positions[example] for example in examples]
        low, high = metadata.get("bounds", (-np.inf, np.inf))
        gaps = adjusted_gaps(
            table.column("score").to_numpy(),
            table.column("group").to_pylist(),
            metadata["groups"],
            table.column("match_id").to_pylist(),
            covariates={name: column[places] for name, column in covariates.items()},
            confidence=confidence,
            bounds=(low, high),
        )
        cell = {name: metadata["wildcards"][name] for name in ("method", "metric")}
        for gap in gaps:
            flags = [*gap.flags, *metadata.get("flags", [])]
            rows.append({**cell, **asdict(gap), "flags": flags})
    return Made(rows, ids, facts)


def _covariates(
    data: Path, texts: pa.Table, predictions: Path, predicted: pa.Table, target: str
) -> tuple[dict[str, int], dict[str, FloatArray]]:
    """Return where each predicted example stands, and what its gaps are adjusted for."""
    examples = predicted.column("example_id").to_pylist()
    columns = [name for name in ("words", "words_b") if name in texts.column_names]
    texts_of = zip(*(texts.column(name).to_pylist() for name in columns), strict=True)
    counts = [sum(len(words or ()) for words in row) for row in texts_of]
    lengths = dict(zip(texts.column("example_id").to_pylist(), counts, strict=True))
    unknown = set(examples) - lengths.keys()
    if unknown:
        raise InputError(
            f"{data}: has no text of example '{min(unknown)}' of {predictions}; run finetune again "
            "on this data"
        )
    labels = predicted.column("label").to_pylist()
    classes = labels if target == "label" else predicted.column("predicted").to_pylist()
    probabilities = predicted.column("probabilities").to_pylist()
    return {example: i for i, example in enumerate(examples)}, {
        "class": np.array(labels, dtype=np.float64),
        "length": np.array([lengths[example] for example in examples], dtype=np.float64),
        "confidence": np.array(
            [row[name] for row, name in zip(probabilities, classes, strict=True)], dtype=np.float64
        ),
    }
