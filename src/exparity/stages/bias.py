"""Stage bias: predictions to how they differ between groups."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from exparity.artefacts.analyses import ExperimentView
from exparity.artefacts.columns import fields, record_columns
from exparity.artefacts.files import read_artefact
from exparity.artefacts.running import Made, analysis
from exparity.core.errors import InputError
from exparity.core.seeding import derive_seed
from exparity.core.settings import Statistics
from exparity.stages.cell import cell_of, read_examples, require_same_cell
from exparity.stats.causal_bias import CounterfactualPrediction, causal_bias
from exparity.stats.model_bias import (
    fpr_gaps,
    is_collapsed,
    marked_if_collapsed,
    model_bias,
)
from exparity.stats.predictions import BiasRow, predictions_of
from exparity.stats.rms import Draws, rms_of_groups

log = logging.getLogger(__name__)
_COLUMNS = ("label", "predicted", "probabilities", "group", "match_id")


def _settle(experiment: ExperimentView, ids: Mapping[str, Any]) -> dict[str, Any]:
    """Take the options from how the groups of a classifier's tests are compared."""
    statistics = experiment.statistics(ids)
    return {name: statistics[name] for name in ("confidence", "resamples")}


@analysis(
    "bias",
    level="seed",
    reads=("data", "predictions", "counterfactual_predictions"),
    artefact="bias",
    columns=fields(*record_columns(BiasRow).items()),
    keys=("quantity", "group", "group_b", "class_name"),
    display="Model bias",
    always=True,
    compares_groups=False,
    settle=_settle,
)
def bias_cell(
    data: Path,
    predictions: Path,
    counterfactual_predictions: Sequence[Path] | None = None,
    *,
    confidence: float = Statistics.confidence,
    resamples: int = Statistics.resamples,
) -> Made:
    """Measure how the predictions of one classifier differ between groups.

    Args:
        data: the data artefact, which declares groups, classes and the protected attribute.
        predictions: the predictions artefact.
        counterfactual_predictions: what is predicted where the groups are changed; none where the
            config names no generator of counterfactuals.
        confidence: of the intervals.
        resamples: of each bootstrap; without any there are no intervals.

    Raises:
        InputError: the files are of different datasets, predictions are missing or there twice, a
            row does not fit what the data declare, or an option is out of range.
    """
    declared = read_artefact(data, "data")[1]
    if not {"groups", "labels", "attribute", "wildcards"} <= set(declared):
        raise InputError(f"{data}: declares no groups; make it with `exparity prepare`")
    table, metadata = read_examples(predictions, "predictions")
    ids = cell_of(metadata)
    require_same_cell((data, declared["wildcards"]), (predictions, ids))
    predicted = table.column("predicted").to_numpy()
    options: dict[str, Any] = {"confidence": confidence, "resamples": resamples}
    seed = derive_seed(int(ids["seed"]), "bias", ids["dataset"], ids["model"])
    measured = [table.column(name).to_pylist() for name in _COLUMNS]
    measured[4:4] = declared["groups"], declared["labels"]
    try:
        rows = model_bias(*measured, **options, seed=seed)
    except InputError as error:
        raise InputError(f"{predictions}: {error}") from None
    notes: dict[str, int] = {}
    if counterfactual_predictions:
        changed = _read_changed(counterfactual_predictions, predictions, table, ids)
        notes["counterfactuals"] = len(changed)
        notes["unchanged"] = sum(not one.n_changed for one in changed)
        causal = causal_bias(predictions_of(*measured), changed, **options, seed=seed)
        rows += [*fpr_gaps(rows), *causal]
    elif len(declared["labels"]) > 2:  # of two classes, one says everything
        over_classes = list(rms_of_groups(predictions_of(*measured), Draws(**options, seed=seed)))
        rows += [*fpr_gaps(rows), *marked_if_collapsed(over_classes, predicted)]
    undefined = sum(math.isnan(row.value) for row in rows)
    log.info("%d quantities, of which %d are undefined", len(rows), undefined)
    if is_collapsed(predicted):
        log.warning("the classifier predicts one class for every test example")
    facts = {name: declared[name] for name in ("groups", "labels", "attribute")}
    facts["notes"] = {"undefined": undefined, **notes}
    return Made([asdict(row) for row in rows], ids, facts)


def _read_changed(
    paths: Sequence[Path], predictions: Path, predicted: pa.Table, ids: Mapping[str, Any]
) -> list[CounterfactualPrediction]:
    """Read what is predicted for the counterfactuals of predicted examples."""
    if len(paths) > 1:
        raise InputError(
            f"{paths[1]}: a classifier has one such file; leave out all but {paths[0]}"
        )
    table, metadata = read_examples(paths[0], "counterfactual_predictions")
    require_same_cell((predictions, ids), (paths[0], cell_of(metadata)))
    shared = ("example_id", "group", "label")
    originals = zip(*(predicted.column(name).to_pylist() for name in shared), strict=True)
    position = {original: i for i, original in enumerate(originals)}
    changed = []
    for row in table.to_pylist():
        index = position.get(tuple(row[name] for name in shared))
        if index is None:
            raise InputError(
                f"{paths[0]}: example '{row['example_id']}' is not in {predictions} with its group "
                "and label; run counterfactual-predictions again"
            )
        outcome = (row[name] for name in ("group_to", "predicted", "probabilities", "n_changed"))
        changed.append(CounterfactualPrediction(index, *outcome))
    return changed
