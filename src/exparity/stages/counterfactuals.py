"""Stages counterfactuals and counterfactual_predictions: texts of other groups, predicted."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from exparity.artefacts.analyses import ExperimentView, Table
from exparity.artefacts.columns import records
from exparity.artefacts.files import read_artefact
from exparity.artefacts.ids import Ids
from exparity.artefacts.running import StageResult, analysis
from exparity.core import flags
from exparity.core.device import Machine
from exparity.counterfactuals import changed_words, counterfactuals_of
from exparity.data.table import read_prepared
from exparity.jobs.loop import Compute, Rest, load, run
from exparity.jobs.parts import Job
from exparity.quantities.inputs import (
    Counterfactual,
    Lookup,
    Prediction,
    cell_of,
    checkpoint_ids,
    require_same_cell,
)
from exparity.stages.explain import checked_encoder
from exparity.types import BoolArray, Example

log = logging.getLogger(__name__)

ChangedWords = dict[str, BoolArray]
"""(w,) by example: True where a counterfactual, of any other group, has another word."""


def _job_options(experiment: ExperimentView, ids: Ids) -> dict[str, object] | None:
    """Take the generator that the config names for a dataset; there may be none."""
    generator = experiment.generators.get(ids.dataset)
    if generator is None:
        return None
    call = generator.call_with_files(f"counterfactuals.{ids.dataset}")
    digest = call["digest"] + "".join(call.get("files", {}).values())
    return {"use": call["use"], "params": call["params"], "digest": digest}


@analysis(
    "counterfactuals",
    level="dataset",
    reads=("data",),
    writes={
        "counterfactuals": Table(
            "example_id split group group_to: string",
            "words: list<string>",
            "n_changed: int16",
            keys=("split", "example_id", "group_to"),
        )
    },
    display="Counterfactuals",
    always=True,
    memory_mb=4000,
    job_options=_job_options,
)
def make_counterfactuals(
    data: Path,
    *,
    use: flags.Id,
    params: flags.Params,
) -> StageResult:
    """Make the counterfactuals of a dataset: one per example and other group.

    Args:
        data: the data artefact.
        use: id of the generator.
        params: its options.

    Raises:
        InputError: an unknown generator or option, or one that does not fit the data.
    """
    prepared = read_prepared(data)
    make = counterfactuals_of(prepared, use, params)
    rows = [
        {
            "example_id": example.example_id,
            "split": example.split,
            "group": example.group,
            "group_to": counterfactual.group,
            "words": list(counterfactual.words),
            "n_changed": int(changed_words(example.words, counterfactual.words).sum()),
        }
        for example in prepared.examples
        for counterfactual in make(example)
    ]
    unchanged = sum(row["n_changed"] == 0 for row in rows)
    missing = len(prepared.examples) * (len(prepared.groups) - 1) - len(rows)
    log.info("%d counterfactuals, %d of them without a change", len(rows), unchanged)
    if missing:
        log.warning("%s: %d counterfactuals do not exist; left out", prepared.dataset, missing)
    notes = {"unchanged": unchanged, "missing": missing}
    return StageResult(rows, {"dataset": prepared.dataset}, {**prepared.compared, "notes": notes})


def read_changed_words(
    paths: Sequence[Path], examples: Sequence[Example], data: Path, dataset: str
) -> ChangedWords:
    """Read which words of each example its counterfactuals change."""
    words = {example.example_id: example.words for example in examples}
    changed: ChangedWords = {}
    for path in paths:
        table, metadata = read_artefact(path, "counterfactuals")
        require_same_cell((data, {"dataset": dataset}), (path, metadata.ids))
        columns = (table.column(name).to_pylist() for name in ("example_id", "words"))
        for example, counterfactual in zip(*columns, strict=True):
            if example in words:
                marks = changed_words(words[example], counterfactual)
                changed[example] = changed.get(example, marks) | marks
    return changed


def n_unchanged(changed: ChangedWords, examples: Sequence[Example]) -> int:
    """Count the different examples that no counterfactual changes a word of, or that have none."""
    names = {example.example_id for example in examples}
    return sum(name not in changed or not changed[name].any() for name in names)


@analysis(
    "counterfactual_predictions",
    level="seed",
    reads=("data", "counterfactuals", "models", "predictions"),
    writes={
        "counterfactual_predictions": Table(
            "example_id group group_to: string",
            "label predicted: int16",
            "probabilities: list<float32>",
            "n_changed: int16",
            keys=("example_id", "group_to"),
        )
    },
    display="Counterfactual predictions",
    runs_model=True,
    always=True,
    memory_mb=8000,
    minutes=None,
    # Not of datasets for which no counterfactuals are made; there is nothing to set.
    job_options=lambda experiment, ids: {} if ids.dataset in experiment.generators else None,
)
def counterfactual_predictions_cell(
    data: Path,
    counterfactuals: Path,
    checkpoint: Path,
    predictions: Path,
    output: flags.Output,
    *,
    machine: Machine = Machine(),
) -> None:
    """Predict the counterfactuals of the test split with a classifier.

    A text in which no word changes keeps its prediction, bit for bit.

    Args:
        data: the data artefact.
        counterfactuals: the counterfactuals artefact.
        checkpoint: folder of the classifier.
        predictions: its predictions artefact.
        output: the counterfactual_predictions artefact to write.
        machine: where the model is run.

    Raises:
        InputError: artefacts that do not belong together.
    """
    table, metadata = read_artefact(counterfactuals, "counterfactuals")
    outcomes, predicted = read_artefact(predictions, "predictions")
    prepared = read_prepared(data, "test")
    ids = cell_of(predicted)
    require_same_cell(
        (data, {"dataset": prepared.dataset}),
        (counterfactuals, metadata.ids),
        (predictions, ids),
        (checkpoint, checkpoint_ids(checkpoint)),
    )
    by_example = ((before.example_id, before) for before in records(Prediction, outcomes))
    predicted_before = Lookup(predictions, "prediction of example", by_example)
    originals = Lookup(data, "test example", ((e.example_id, e) for e in prepared.examples))
    versions = [row for row in records(Counterfactual, table) if row.split == "test"]
    changes = {(version.example_id, version.group_to): version.n_changed for version in versions}
    job = Job(
        output,
        "counterfactual_predictions",
        ids,
        {},
        files=[data, counterfactuals, predictions],
        checkpoint=checkpoint,
        sources=[Path(__file__)],
        passes=1,
        load=partial(load, checkpoint, machine),
        doing="predicting counterfactuals",
        facts={
            **prepared.compared,
            "notes": {"unchanged": sum(not n for n in changes.values())},
        },
    )
    texts = [
        replace(originals[version.example_id], words=tuple(version.words), group=version.group_to)
        for version in versions
    ]
    run(job, texts, partial(_predicting, originals, predicted_before, changes))


def _predicting(
    originals: Mapping[str, Example],
    predicted_before: Mapping[str, Prediction],
    changes: Mapping[tuple[str, str], int],
    rest: Rest,
) -> Compute:
    """Return the function that predicts the counterfactuals of a part."""
    encodings_of = checked_encoder(rest.model, rest.chunks)

    def compute(part: Sequence[Example]) -> tuple[list[dict[str, object]], dict[str, object]]:
        encodings = encodings_of(part)
        before = [originals[example.example_id] for example in part]
        changed = [i for i, x in enumerate(part) if x.words != before[i].words]
        probabilities = rest.model.probabilities([encodings[i].token_ids for i in changed])
        anew = dict(zip(changed, probabilities, strict=True))
        rows = []
        for i, (example, original) in enumerate(zip(part, before, strict=True)):
            prediction = predicted_before[example.example_id]
            is_changed = i in anew
            rows.append(
                {
                    "example_id": example.example_id,
                    "group": original.group,
                    "group_to": example.group,
                    "label": prediction.label,
                    "predicted": int(anew[i].argmax()) if is_changed else prediction.predicted,
                    "probabilities": anew[i].tolist() if is_changed else prediction.probabilities,
                    "n_changed": changes[example.example_id, example.group],
                }
            )
        return rows, {"n_truncated": sum(encoding.truncated for encoding in encodings)}

    return compute
