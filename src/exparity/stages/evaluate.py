"""Stage evaluate: explanations to one score per example."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exparity.artifacts import read_artefact, write_artefact
from exparity.data.table import read_prepared, sample
from exparity.errors import InputError
from exparity.interface import SPECIAL_WORD, Explanation
from exparity.metrics import METRICS, evaluate_keyed, metric_options
from exparity.parameters import complete
from exparity.progress import Progress

if TYPE_CHECKING:
    from exparity.engine.classifier import Classifier

log = logging.getLogger(__name__)
CHUNK = 256


def evaluate_cell(
    data: Path,
    explanations: Path,
    checkpoint: Path | None,
    output: Path,
    *,
    use: str,
    params: Mapping[str, Any],
    metric_id: str,
    max_examples: int | None = None,
    precision: str = "fp32",
    device: str = "auto",
    token_budget: int | None = None,
) -> None:
    """Score explanations with one metric.

    Args:
        data: the data artefact.
        explanations: the explanations artefact.
        checkpoint: folder of the explained classifier; None if the metric does not run it.
        output: the scores artefact.
        use: registered metric.
        params: its options.
        metric_id: id of the metric's instance.
        max_examples: size of a deterministic sample; all if None.
        precision: see :func:`exparity.load_classifier`.
        device: where to run.
        token_budget: padded tokens per batch.

    Raises:
        InputError: bad options or artefacts that do not belong together.
    """
    start = time.monotonic()
    entry = METRICS.get(use)
    options = complete(metric_options(entry), params, f"metric {metric_id}")
    prepared = read_prepared(data)
    table, metadata = read_artefact(explanations, "explanations")
    explained = {row["example_id"]: _explanation(row) for row in table.to_pylist()}
    test = {e.example_id: e for e in prepared.split("test")}
    unknown = explained.keys() - test.keys()
    if unknown:
        raise InputError(
            f"{explanations}: example '{min(unknown)}' is not in {data}; explain this data again"
        )
    chosen = sample([e for key, e in test.items() if key in explained], max_examples)
    classifier = _classifier(use, metric_id, checkpoint, device, precision, token_budget)
    ids = {**metadata["wildcards"], "metric": metric_id}
    values = np.empty(len(chosen))
    with Progress(len(chosen), f"evaluating {metric_id}") as progress:
        for first in range(0, len(chosen), CHUNK):
            keys = [e.example_id for e in chosen[first : first + CHUNK]]
            part = [explained[key] for key in keys]
            values[first : first + CHUNK] = evaluate_keyed(
                classifier, part, keys, use, int(ids["seed"]), options
            )
            progress.advance(len(part))
    undefined = int(np.isnan(values).sum())
    if undefined:
        log.warning("%s is undefined for %d of %d examples", metric_id, undefined, len(values))
    rows = [
        {
            "example_id": e.example_id,
            "group": e.group,
            "match_id": e.match_id,
            "score": float(value),
        }
        for e, value in zip(chosen, values, strict=True)
    ]
    write_artefact(
        output,
        "scores",
        rows,
        ids,
        stage="evaluate",
        parameters={
            "use": use, **options, "max_examples": max_examples, "precision": precision
        },
        device=str(classifier.device) if classifier else "cpu",
        seconds=time.monotonic() - start,
        extra={
            "groups": list(prepared.groups),
            "attribute": prepared.attribute,
            "flags": metadata.get("flags", []),
        },
    )  # fmt: skip


def _explanation(row: Mapping[str, Any]) -> Explanation:
    word_ids = np.array(row["word_ids"], dtype=np.int64)
    return Explanation(
        text="",  # the tokens are what counts; the text is in the data artefact
        target=row["target"],
        token_ids=np.array(row["token_ids"], dtype=np.int64),
        tokens=row["tokens"],
        scores=np.array(row["scores"], dtype=np.float64),
        special_mask=word_ids == SPECIAL_WORD,
        word_ids=word_ids,
    )


def _classifier(
    use: str,
    metric_id: str,
    checkpoint: Path | None,
    device: str,
    precision: str,
    token_budget: int | None,
) -> Classifier | None:
    """Load the model only for metrics that run it: the others start in a fraction of the time."""
    if METRICS.get(use).facts.needs == "attributions":
        return None
    if checkpoint is None:
        raise InputError(f"metric {metric_id}: runs the model; name its --checkpoint")
    from exparity.engine import load_classifier

    return load_classifier(str(checkpoint), device, precision, token_budget=token_budget)
