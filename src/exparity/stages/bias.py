"""Stage bias: predictions to how they differ between groups."""

from __future__ import annotations

import logging
import math
import time
from dataclasses import asdict
from pathlib import Path

from exparity.artefacts.files import read_artefact, write_artefact
from exparity.core.errors import InputError
from exparity.core.flags import Output, Params
from exparity.core.options import complete_for
from exparity.core.seeding import derive_seed
from exparity.stages._cell import cell_of, read_examples, require_same_cell
from exparity.stats.model_bias import is_collapsed, model_bias

log = logging.getLogger(__name__)
_COLUMNS = ("label", "predicted", "probabilities", "group", "match_id")


def bias_cell(data: Path, predictions: Path, output: Output, *, statistics: Params) -> None:
    """Measure how the predictions of one classifier differ between groups.

    Args:
        data: the data artefact, which declares groups, classes and the protected attribute.
        predictions: the predictions artefact.
        output: the bias artefact to write.
        statistics: ``confidence`` or ``resamples`` of the config's statistics block.

    Raises:
        InputError: the files are of different datasets, predictions are missing or there twice, a
            row does not fit what the data declare, or an option is out of range.
    """
    start = time.monotonic()
    statistics = complete_for(model_bias, statistics, "statistics")
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
            **statistics,
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
        parameters=statistics,
        seconds=time.monotonic() - start,
        extra={
            "groups": declared["groups"],
            "labels": declared["labels"],
            "attribute": declared["attribute"],
            "notes": {"undefined": undefined},
        },
    )
