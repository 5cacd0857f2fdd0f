"""Stage bias: predictions to how they differ between groups."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa

from exparity.artefacts.analyses import Table
from exparity.artefacts.columns import Row, records
from exparity.artefacts.files import read_artefact
from exparity.artefacts.running import StageResult, analysis
from exparity.core.seeding import derive_seed
from exparity.core.settings import DEFAULTS, Statistics
from exparity.quantities.inputs import (
    ChangedPrediction,
    Lookup,
    Prediction,
    model_of,
    read_all,
)
from exparity.stats.bootstrap import Draws
from exparity.stats.causal_bias import CounterfactualPrediction, causal_bias
from exparity.stats.model_bias import (
    fpr_gaps,
    is_collapsed,
    marked_if_collapsed,
    model_bias,
)
from exparity.stats.predictions import BiasRow, Predictions, predictions_of
from exparity.stats.rms import rms_of_groups

log = logging.getLogger(__name__)


@analysis(
    "bias",
    level="model",
    reads=("data", "predictions", "counterfactual_predictions"),
    writes={
        "bias": Table(
            BiasRow,
            keys=("seed", "quantity", "group", "group_b", "class_name"),
            ids=("seed",),
        )
    },
    needs=(),
    display="Model bias",
    always=True,
    memory_mb=4000,
    minutes=10,
    statistics=("confidence", "resamples"),
)
def bias_model(
    data: Path,
    predictions: Sequence[Path],
    counterfactual_predictions: Sequence[Path] | None = None,
    *,
    confidence: float = DEFAULTS.confidence,
    resamples: int = DEFAULTS.resamples,
) -> StageResult:
    """Measure how the predictions of each training of a model differ between groups.

    Args:
        data: the data artefact, which declares groups, classes and the protected attribute.
        predictions: predictions artefacts of one dataset and model, one per seed.
        counterfactual_predictions: counterfactual_predictions artefacts, one per seed; none if the
            config names no generator of counterfactuals.
        confidence: coverage of the intervals.
        resamples: bootstrap resamples; 0 leaves out the intervals that need them.

    Raises:
        InputError: the files are of different datasets or models, predictions are missing, a row
            does not fit what the data declare, or an option is out of range.
    """
    Statistics(confidence=confidence, resamples=resamples)  # refuses what is out of range
    _, declared = read_artefact(data, "data")
    same_dataset = data, declared.ids
    trained = list(read_all("predictions", predictions, same_dataset, over=("seed",)))
    ids = model_of(trained[0][1])
    dataset, model = ids.values()
    others = counterfactual_predictions or ()
    changed = {
        metadata.ids.seed: table
        for table, metadata in read_all(
            "counterfactual_predictions", others, (predictions[0], ids), over=("seed",)
        )
    }
    rows: list[Row] = []
    notes: dict[str, int] = {}
    n_undefined = 0
    for table, metadata in trained:
        seed = metadata.ids.seed
        predicted = _predictions(table, declared.groups, declared.labels)
        if is_collapsed(predicted.predicted):
            log.warning("seed %s: the classifier predicts one class for every test example", seed)
        drawn_by = derive_seed(int(seed), "bias", dataset, model)
        draws = Draws(confidence=confidence, resamples=resamples, seed=drawn_by)
        measured = model_bias(predicted, draws)
        if seed in changed:
            examples = table.column("example_id").to_pylist()
            counterfactuals = _read_changed(changed[seed], examples)
            unchanged = sum(not prediction.n_changed for prediction in counterfactuals)
            # All trainings have the same counterfactuals.
            notes = {"counterfactuals": len(counterfactuals), "unchanged": unchanged}
            causal = causal_bias(predicted, counterfactuals, draws)
            measured += [*fpr_gaps(measured), *causal]
        elif len(predicted.classes) > 2:  # of two classes, one says everything
            over_classes = [*rms_of_groups(predicted, draws)]
            over_classes = marked_if_collapsed(over_classes, predicted.predicted)
            measured += [*fpr_gaps(measured), *over_classes]
        n_undefined += sum(math.isnan(row.value) for row in measured)
        rows += [{**asdict(row), "seed": seed} for row in measured]
    log.info("%d quantities, %d of them undefined", len(rows), n_undefined)
    facts = {name: declared[name] for name in ("groups", "labels", "attribute")}
    return StageResult(rows, ids, {**facts, "notes": {"undefined": n_undefined, **notes}})


def _predictions(table: pa.Table, groups: Sequence[str], labels: Sequence[str]) -> Predictions:
    """Return the predictions of a training, with the groups and classes that the data declare."""
    predicted = records(Prediction, table)
    return predictions_of(
        [prediction.label for prediction in predicted],
        [prediction.predicted for prediction in predicted],
        [prediction.probabilities for prediction in predicted],
        [prediction.group for prediction in predicted],
        groups,
        labels,
        [prediction.match_id for prediction in predicted],
    )


def _read_changed(table: pa.Table, examples: Sequence[str]) -> list[CounterfactualPrediction]:
    """Read what is predicted for the counterfactuals of predicted examples."""
    places = zip(examples, range(len(examples)), strict=True)
    position = Lookup("--predictions", "example", places)
    return [row.at(position[row.example_id]) for row in records(ChangedPrediction, table)]
