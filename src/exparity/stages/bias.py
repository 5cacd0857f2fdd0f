"""Stage bias: predictions to how they differ between groups."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from exparity.artefacts.analyses import Table
from exparity.artefacts.files import read_artefact
from exparity.artefacts.running import StageResult, analysis
from exparity.core.seeding import derive_seed
from exparity.core.settings import DEFAULTS, Statistics
from exparity.stages.cell import Lookup, cell_of, read_all
from exparity.stats.bootstrap import Draws
from exparity.stats.causal_bias import CounterfactualPrediction, causal_bias
from exparity.stats.model_bias import (
    fpr_gaps,
    is_collapsed,
    marked_if_collapsed,
    model_bias,
)
from exparity.stats.predictions import BiasRow, predictions_of
from exparity.stats.rms import rms_of_groups

log = logging.getLogger(__name__)
_COLUMNS = ("label", "predicted", "probabilities", "group", "match_id")


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
    declared = read_artefact(data, "data")[1]
    of_data = data, declared["wildcards"]
    trained = list(read_all("predictions", predictions, of_data, over=("seed",)))
    of_model = {name: trained[0][1]["wildcards"][name] for name in ("dataset", "model")}
    others = counterfactual_predictions or ()
    changed = {
        cell_of(metadata)["seed"]: table
        for table, metadata in read_all(
            "counterfactual_predictions", others, (predictions[0], of_model), over=("seed",)
        )
    }
    rows: list[dict[str, Any]] = []
    notes: dict[str, int] = {}
    for table, metadata in trained:
        ids = cell_of(metadata)
        if is_collapsed(table.column("predicted").to_pylist()):
            log.warning(
                "seed %s: the classifier predicts one class for every test example", ids["seed"]
            )
        seed = derive_seed(int(ids["seed"]), "bias", ids["dataset"], ids["model"])
        draws = Draws(confidence=confidence, resamples=resamples, seed=seed)
        columns = [table.column(name).to_pylist() for name in _COLUMNS]
        columns[4:4] = declared["groups"], declared["labels"]
        own = predictions_of(*columns)
        measured = model_bias(own, draws)
        if ids["seed"] in changed:
            examples = table.column("example_id").to_pylist()
            counterfactuals = _read_changed(changed[ids["seed"]], examples)
            # The same of every training.
            notes["counterfactuals"] = len(counterfactuals)
            notes["unchanged"] = sum(not one.n_changed for one in counterfactuals)
            measured += [*fpr_gaps(measured), *causal_bias(own, counterfactuals, draws)]
        elif len(own.classes) > 2:  # of two classes, one says everything
            over_classes = marked_if_collapsed([*rms_of_groups(own, draws)], own.predicted)
            measured += [*fpr_gaps(measured), *over_classes]
        rows += [{**asdict(row), "seed": ids["seed"]} for row in measured]
    undefined = sum(math.isnan(row["value"]) for row in rows)
    log.info("%d quantities, of which %d are undefined", len(rows), undefined)
    facts = {name: declared[name] for name in ("groups", "labels", "attribute")}
    facts["notes"] = {"undefined": undefined, **notes}
    return StageResult(rows, of_model, facts)


def _read_changed(table: pa.Table, examples: Sequence[str]) -> list[CounterfactualPrediction]:
    """Read what is predicted for the counterfactuals of predicted examples."""
    places = zip(examples, range(len(examples)), strict=True)
    position = Lookup("--predictions", "example", places)
    names = ("group_to", "predicted", "probabilities", "n_changed")
    return [
        CounterfactualPrediction(position[row["example_id"]], *(row[name] for name in names))
        for row in table.to_pylist()
    ]
