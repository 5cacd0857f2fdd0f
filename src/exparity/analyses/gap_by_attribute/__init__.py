"""Analysis gap_by_attribute: gaps of a classifier in ranges of a number that the data have.

Chen, Ji and Evans (2024), appendix H.2 and figure 13: the gaps by how many annotators agree on the
gender that a comment mentions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path

from exparity.analyses import ExperimentView, StageResult, Table, analysis
from exparity.analyses.gap_by_attribute.section import findings
from exparity.artefacts.columns import Row, records
from exparity.artefacts.ids import Ids
from exparity.core.errors import InputError, require_known
from exparity.core.settings import DEFAULTS
from exparity.data.table import PreparedData, read_prepared
from exparity.quantities.inputs import (
    ChangedPrediction,
    Lookup,
    Prediction,
    model_of,
    read_all,
)
from exparity.stats.gaps import gaps_of
from exparity.stats.model_bias import is_collapsed
from exparity.stats.predictions import BiasRow, predictions_of

_WHERE = "analyses.gap_by_attribute"
_COLLAPSED = "collapsed"


def _check_edges(edges: Sequence[float]) -> None:
    """Refuse edges that are no ranges."""
    if len(edges) < 2 or any(low >= high for low, high in pairwise(edges)):
        raise InputError(
            f"{_WHERE}.edges: {list(edges)} are no ranges; give two or more numbers that rise"
        )


def _job_options(
    experiment: ExperimentView,
    ids: Ids,
    *,
    attribute: str = "",
    edges: Sequence[float] | None = None,
    datasets: Sequence[str] | None = None,
) -> dict[str, object] | None:
    """Return the options of a job; none where a dataset is not among those that are named."""
    if not attribute:
        raise InputError(f"{_WHERE}.attribute: missing; name an attribute of the data")
    if edges is None:
        raise InputError(
            f"{_WHERE}.edges: missing; give the ends of the ranges, such as [0, 0.5, 1]"
        )
    _check_edges(edges)
    for dataset in datasets or ():
        config_datasets = list(experiment.datasets)
        require_known(dataset, config_datasets, f"{_WHERE}.datasets: no dataset '{dataset}' here")
    if datasets and ids.dataset not in datasets:
        return None
    return {"attribute": attribute, "edges": list(edges)}


@analysis(
    "gap_by_attribute",
    level="model",
    reads=("data", "predictions", "counterfactual_predictions"),
    writes={
        "gap_by_attribute": Table(
            "by: string",
            "low high: float64",
            BiasRow,
            keys=("seed", "low", "quantity", "group", "group_b", "class_name"),
            ids=("seed",),
        )
    },
    display="Gaps by an attribute",
    statistics=("confidence",),
    job_options=_job_options,
    section=findings,
)
def gap_by_attribute(
    data: Path,
    predictions: Sequence[Path],
    counterfactual_predictions: Sequence[Path] | None = None,
    *,
    attribute: str,
    edges: Sequence[float],
    confidence: float = DEFAULTS.confidence,
) -> StageResult:
    """Measure the gaps of each training of a model in ranges of a number of the data.

    Args:
        data: the data artefact.
        predictions: predictions artefacts of one dataset and model, one per seed.
        counterfactual_predictions: counterfactual_predictions artefacts, one per seed; without
            them, causal gaps are left out.
        attribute: attribute of the examples that is a number.
        edges: ends of the ranges, rising; a range holds its lower end, and the last both.
        confidence: coverage of the intervals.

    Raises:
        InputError: no test example has the attribute, a value of it is no number, the files are of
            different datasets or models, or edges do not rise.
    """
    _check_edges(edges)
    prepared = read_prepared(data, "test")
    values = Lookup(data, "test example", _values(prepared, attribute, data).items())
    same_dataset = data, {"dataset": prepared.dataset}
    trained = list(read_all("predictions", predictions, same_dataset, over=("seed",)))
    ids = model_of(trained[0][1])
    same_model = predictions[0], ids
    changed_by_seed = {
        metadata.ids.seed: records(ChangedPrediction, table)
        for table, metadata in read_all(
            "counterfactual_predictions",
            counterfactual_predictions or (),
            same_model,
            over=("seed",),
        )
    }
    rows: list[Row] = []
    for table, metadata in trained:
        seed = metadata.ids.seed
        predicted = records(Prediction, table)
        collapsed = is_collapsed([prediction.predicted for prediction in predicted])
        for low, high in pairwise(edges):
            is_last = high == edges[-1]
            chosen = [
                prediction
                for prediction in predicted
                if low <= (value := values[prediction.example_id]) < high
                or (is_last and value == high)
            ]
            place = {"seed": seed, "by": attribute, "low": low, "high": high}
            for gap in _gaps(prepared, chosen, changed_by_seed.get(seed, ()), confidence):
                flags = [flag for flag in gap.flags if flag != _COLLAPSED or collapsed]
                rows.append({**place, **asdict(gap), "flags": flags})
    return StageResult(rows, ids, {**prepared.compared, "labels": list(prepared.labels)})


def _values(prepared: PreparedData, attribute: str, path: Path) -> dict[str, float]:
    """Return the number of each test example, NaN where it has none."""
    values = {}
    for example in prepared.examples:
        written = example.attributes.get(attribute, "nan")
        try:
            values[example.example_id] = float(written)
        except ValueError:
            raise InputError(
                f"{path}: attribute '{attribute}' of example '{example.example_id}' is "
                f"'{written}', and not a number; name another in {_WHERE}.attribute"
            ) from None
    if all(math.isnan(value) for value in values.values()):
        attributes = sorted({name for example in prepared.examples for name in example.attributes})
        raise InputError(
            f"{path}: no test example has the attribute '{attribute}' (there are: "
            f"{', '.join(attributes) or 'none'}); name another in {_WHERE}.attribute, or the "
            f"datasets that have it in {_WHERE}.datasets"
        )
    return values


def _gaps(
    prepared: PreparedData,
    predicted: Sequence[Prediction],
    changed: Sequence[ChangedPrediction],
    confidence: float,
) -> Iterator[BiasRow]:
    """Yield the gaps over some of the predictions; nothing without any."""
    if not predicted:
        return
    place = {prediction.example_id: i for i, prediction in enumerate(predicted)}
    counterfactuals = [row.at(place[row.example_id]) for row in changed if row.example_id in place]
    data = predictions_of(
        [prediction.label for prediction in predicted],
        [prediction.predicted for prediction in predicted],
        [prediction.probabilities for prediction in predicted],
        [prediction.group for prediction in predicted],
        prepared.groups,
        prepared.labels,
        [prediction.match_id for prediction in predicted],
    )
    yield from gaps_of(data, counterfactuals, confidence=confidence)
