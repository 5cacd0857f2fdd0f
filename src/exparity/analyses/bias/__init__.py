"""Analysis bias: predictions to how they differ between groups."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from exparity.analyses import ExperimentView, analysis, fields
from exparity.artefacts.files import read_artefact, write_artefact
from exparity.artefacts.schemas import record_columns
from exparity.core.errors import InputError
from exparity.core.flags import Output
from exparity.core.seeding import derive_seed
from exparity.stages.cell import cell_of, read_examples, require_same_cell
from exparity.stats.model_bias import BiasRow, is_collapsed, model_bias

log = logging.getLogger(__name__)
_COLUMNS = ("label", "predicted", "probabilities", "group", "match_id")


def _settle(experiment: ExperimentView, ids: Mapping[str, Any]) -> dict[str, Any]:
    """Take the options from how the groups of a classifier's tests are compared."""
    statistics = experiment.statistics(ids)
    return {name: statistics[name] for name in ("confidence", "resamples")}


@analysis(
    "bias",
    level="seed",
    reads=("data", "predictions"),
    artefact="bias",
    columns=fields(*record_columns(BiasRow).items()),
    keys=("quantity", "group", "group_b", "class_name"),
    display="Model bias",
    block="statistics",
    settle=_settle,
)
def bias_cell(
    data: Path,
    predictions: Path,
    output: Output,
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
) -> None:
    """Measure how the predictions of one classifier differ between groups.

    Args:
        data: the data artefact, which declares groups, classes and the protected attribute.
        predictions: the predictions artefact.
        output: the bias artefact to write.
        confidence: of the intervals.
        resamples: of each bootstrap; without any there are no intervals.

    Raises:
        InputError: the files are of different datasets, predictions are missing or there twice, a
            row does not fit what the data declare, or an option is out of range.
    """
    start = time.monotonic()
    declared = read_artefact(data, "data")[1]
    if not {"groups", "labels", "attribute", "wildcards"} <= set(declared):
        raise InputError(f"{data}: declares no groups; make it with `exparity prepare`")
    table, metadata = read_examples(predictions, "predictions")
    ids = cell_of(metadata)
    require_same_cell((data, declared["wildcards"]), (predictions, ids))
    columns = (table.column(name).to_pylist() for name in _COLUMNS)
    labels, predicted, probabilities, groups, sets = columns
    options: dict[str, Any] = {"confidence": confidence, "resamples": resamples}
    try:
        rows = model_bias(
            labels,
            predicted,
            probabilities,
            groups,
            declared["groups"],
            declared["labels"],
            sets,
            seed=derive_seed(int(ids["seed"]), "bias", ids["dataset"], ids["model"]),
            **options,
        )
    except InputError as error:
        raise InputError(f"{predictions}: {error}") from None
    undefined = sum(math.isnan(row.value) for row in rows)
    log.info("%d quantities, of which %d are undefined", len(rows), undefined)
    if is_collapsed(predicted):
        log.warning("the classifier predicts one class for every test example")
    facts = {name: declared[name] for name in ("groups", "labels", "attribute")}
    write_artefact(
        output,
        "bias",
        [asdict(row) for row in rows],
        ids,
        stage="bias",
        parameters=options,
        seconds=time.monotonic() - start,
        extra={**facts, "notes": {"undefined": undefined}},
    )
