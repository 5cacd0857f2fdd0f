"""Analysis bias: predictions to how they differ between groups."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from exparity.analyses import ExperimentView, analysis, fields
from exparity.artefacts.files import read_artefact, write_artefact
from exparity.core.errors import InputError
from exparity.core.flags import Output
from exparity.core.seeding import derive_seed
from exparity.stages.cell import cell_of, read_examples, require_same_cell

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
    columns=fields(
        ("quantity", pa.string()),
        ("group", pa.string()),
        ("group_b", pa.string()),
        ("class_name", pa.string()),
        ("value", pa.float64()),
        ("n", pa.int64()),
        ("ci_low", pa.float64()),
        ("ci_high", pa.float64()),
        ("flags", pa.list_(pa.string())),
    ),
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
    from exparity.stats.model_bias import is_collapsed, model_bias

    start = time.monotonic()
    declared = read_artefact(data, "data")[1]
    if not {"groups", "labels", "attribute", "wildcards"} <= set(declared):
        raise InputError(f"{data}: declares no groups; make it with `exparity prepare`")
    table, metadata = read_examples(predictions, "predictions")
    ids = cell_of(metadata)
    require_same_cell((data, declared["wildcards"]), (predictions, ids))
    columns = {name: table.column(name).to_pylist() for name in _COLUMNS}
    try:
        rows = model_bias(
            columns["label"],
            columns["predicted"],
            columns["probabilities"],
            columns["group"],
            declared["groups"],
            declared["labels"],
            columns["match_id"],
            seed=derive_seed(int(ids["seed"]), "bias", ids["dataset"], ids["model"]),
            confidence=confidence,
            resamples=resamples,
        )
    except InputError as error:
        raise InputError(f"{predictions}: {error}") from None
    undefined = sum(math.isnan(row.value) for row in rows)
    log.info("%d quantities, of which %d are undefined", len(rows), undefined)
    if is_collapsed(columns["predicted"]):
        log.warning("the classifier predicts one class for every test example")
    write_artefact(
        output,
        "bias",
        [asdict(row) for row in rows],
        ids,
        stage="bias",
        parameters={"confidence": confidence, "resamples": resamples},
        seconds=time.monotonic() - start,
        extra={
            "groups": declared["groups"],
            "labels": declared["labels"],
            "attribute": declared["attribute"],
            "notes": {"undefined": undefined},
        },
    )
