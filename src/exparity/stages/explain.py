"""Stage explain: checkpoint and data to one attribution score per token."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from exparity.artifacts import read_artefact, write_artefact
from exparity.data.table import read_prepared, sample
from exparity.errors import InputError
from exparity.interface import Example, Explanation
from exparity.methods import METHODS
from exparity.parameters import complete
from exparity.progress import Progress

log = logging.getLogger(__name__)

# Examples in memory at once: enough to fill batches, few enough that memory does not grow.
CHUNK = 256
_PROBE = 8


def explain_cell(
    data: Path,
    checkpoint: Path,
    predictions: Path,
    output: Path,
    *,
    use: str,
    params: Mapping[str, Any],
    model_id: str,
    method_id: str,
    seed: int,
    target: str = "label",
    examples: str = "all",
    max_examples: int | None = None,
    precision: str = "fp32",
    device: str = "auto",
    token_budget: int | None = None,
) -> None:
    """Explain the test split with one method.

    Args:
        data: the data artefact.
        checkpoint: folder of the classifier.
        predictions: its predictions artefact.
        output: the explanations artefact.
        use: registered method.
        params: its options.
        model_id: id of the model's instance.
        method_id: id of the method's instance.
        seed: the run's seed.
        target: explain the true ``label`` or the ``predicted`` one.
        examples: ``all``, or only those classified ``correct``.
        max_examples: size of a deterministic sample; all if None.
        precision: see :func:`exparity.load_classifier`.
        device: where to run.
        token_budget: padded tokens per batch.

    Raises:
        InputError: bad options or artefacts that do not belong together.
        ExparityError: the preflight found that the job would go wrong.
    """
    from exparity.engine import load_classifier
    from exparity.engine.preflight import check_attributions, check_wrapper
    from exparity.methods import explain_encodings

    start = time.monotonic()
    entry = METHODS.get(use)
    options = complete(entry.options, params, f"method {method_id}")
    prepared = read_prepared(data)
    predicted = _predicted(predictions)
    chosen = _chosen(prepared.split("test"), predicted, examples, max_examples, predictions)
    classifier = load_classifier(str(checkpoint), device, precision, token_budget=token_budget)
    encodings = classifier.encode([e.words for e in chosen])
    targets = np.array(
        [predicted[e.example_id] if target == "predicted" else e.label for e in chosen]
    )
    keys = [e.example_id for e in chosen]

    flags: set[str] = set()

    def explain(first: int, last: int) -> list[Explanation]:
        return explain_encodings(
            classifier, encodings[first:last], targets[first:last], keys[first:last],
            use, seed, options, flags,
        )  # fmt: skip

    check_wrapper(classifier, [e.token_ids for e in encodings[:_PROBE]])
    check_attributions(method_id, [e.scores for e in explain(0, _PROBE)])
    if flags:
        log.warning("the scores of %s are flagged: %s", method_id, ", ".join(sorted(flags)))
    rows = []
    with Progress(len(chosen), f"explaining with {method_id}") as progress:
        for first in range(0, len(chosen), CHUNK):
            part = explain(first, first + CHUNK)
            rows += [_row(e, x) for e, x in zip(chosen[first : first + CHUNK], part, strict=True)]
            progress.advance(len(part))
    seconds = time.monotonic() - start
    log.info("%d examples in %.1f s on %s", len(rows), seconds, classifier.device)
    write_artefact(
        output,
        "explanations",
        rows,
        {"dataset": prepared.dataset, "model": model_id, "seed": seed, "method": method_id},
        stage="explain",
        parameters={
            "use": use, **options, "target": target, "examples": examples,
            "max_examples": max_examples, "precision": precision,
        },
        device=str(classifier.device),
        seconds=seconds,
        extra={"n_truncated": sum(e.truncated for e in encodings), "flags": sorted(flags)},
    )  # fmt: skip


def _predicted(path: Path) -> dict[str, int]:
    table, _ = read_artefact(path, "predictions")
    pairs = zip(
        table.column("example_id").to_pylist(), table.column("predicted").to_pylist(), strict=True
    )
    return dict(pairs)


def _chosen(
    test: list[Example],
    predicted: Mapping[str, int],
    examples: str,
    max_examples: int | None,
    source: Path,
) -> list[Example]:
    """Return the examples to explain."""
    for example in test:
        if example.example_id not in predicted:
            raise InputError(
                f"{source}: has no prediction for example '{example.example_id}'; run finetune "
                "again on this data"
            )
    if examples == "correct":
        test = [e for e in test if predicted[e.example_id] == e.label]
        if not test:
            raise InputError(f"{source}: no test example is classified correctly")
    return sample(test, max_examples)


def _row(example: Example, explanation: Explanation) -> dict[str, Any]:
    assert explanation.token_ids is not None
    assert explanation.word_ids is not None
    return {
        "example_id": example.example_id,
        "target": explanation.target,
        "token_ids": explanation.token_ids.tolist(),
        "tokens": list(explanation.tokens),
        "word_ids": explanation.word_ids.tolist(),
        "scores": explanation.scores.astype(np.float32).tolist(),
    }
