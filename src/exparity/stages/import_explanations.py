"""Explanations that another tool made, as the artefact that stage explain would write."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from exparity.core.flags import Device, Flag, Id, Output, Seed, ToldCheckpoint
from exparity.stages.explain import explain_cell


def import_explanations(
    data: Path,
    checkpoint: ToldCheckpoint,
    predictions: Path,
    output: Output,
    *,
    jsonl: Annotated[Path, Flag(metavar="FILE")],
    method: Id = "imported",
    model_id: Id | None = None,
    seed: Seed = 0,
    target: Literal["label", "predicted"] = "label",
    examples: Literal["all", "correct"] = "all",
    max_examples: int | None = None,
    device: Device = "auto",
) -> None:
    """Turn explanations made by another tool into an explanations artefact.

    It is what ``exparity explain --use imported --param path=FILE`` writes, and the workflow with a
    method ``imported``.

    Args:
        data: the data artefact.
        checkpoint: folder of the explained classifier, for its tokenizer.
        predictions: its predictions artefact.
        output: the explanations artefact to write.
        jsonl: the file, an explanation a line; see the docs on importing.
        method: name of what made them, for results and reports.
        model_id: name of the model; by the folder of the checkpoint if None.
        seed: of the classifier's training.
        target: class that is explained, the true or the predicted one.
        examples: examples to take over, all or those classified correctly.
        max_examples: size of a deterministic sample; all if None.
        device: ``auto``, ``cpu`` or ``cuda:N``.

    Raises:
        InputError: see :func:`exparity.methods.imported.imported`; or artefacts that do not belong
            together.
    """
    explain_cell(
        data,
        checkpoint,
        predictions,
        output,
        use="imported",
        params={"path": str(jsonl)},
        model_id=model_id,
        method_id=method,
        seed=seed,
        target=target,
        examples=examples,
        max_examples=max_examples,
        device=device,
    )
