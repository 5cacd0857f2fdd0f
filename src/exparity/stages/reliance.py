"""Stage reliance: do explanations point to the words that the prediction depends on?

Where a text's prediction changes when only the group changes, the classifier relies on the words
that differ, and a faithful explanation gives them attribution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from exparity.artefacts.analyses import Findings, Table
from exparity.artefacts.columns import Export, Row, plain_schema, records
from exparity.artefacts.files import read_artefact
from exparity.artefacts.ids import Ids
from exparity.artefacts.running import StageResult, analysis
from exparity.core.settings import DEFAULTS
from exparity.quantities.inputs import (
    ChangedPrediction,
    Lookup,
    cell_of,
    read_all,
    require_same_cell,
    scored_of,
)
from exparity.stats.rank_correlation import RankCorrelation, rank_correlation

_COLUMNS = ("group_a group_b: string", "n_unchanged: int64", RankCorrelation)


def _findings(rows: Sequence[Row], study: Any) -> Findings:
    ids = ("dataset model: string", "seed: int64", "method metric: string")
    title = "Attribution on group terms and effect of the group"
    return Findings(
        {"rows": rows}, [Export("reliance", title, plain_schema(*ids, *_COLUMNS), rows)]
    )


@analysis(
    "reliance",
    level="seed",
    reads=("scores", "predictions", "counterfactual_predictions"),
    writes={
        "reliance": Table(
            *_COLUMNS,
            keys=("method", "metric", "group_a", "group_b"),
            ids=("method", "metric"),
        )
    },
    metric_needs={"scores": "counterfactual"},
    display="Attribution on group terms",
    always=True,
    memory_mb=4000,
    minutes=10,
    statistics=("confidence",),
    job_options=lambda experiment, ids: {"target": experiment.config.target},
    section=_findings,
    template="reliance.html.j2",
)
def reliance_cell(
    scores: Sequence[Path],
    predictions: Path,
    counterfactual_predictions: Path,
    *,
    confidence: float = DEFAULTS.confidence,
    target: Literal["label", "predicted"] = "label",
) -> StageResult:
    """Correlate attribution on the words that change with the effect of changing them.

    The effect is the size of the change in the probability of the explained class. Examples whose
    counterfactual is the same text are left out, and counted.

    Args:
        scores: scores artefacts of one dataset, model and seed, by metrics of the words that
            counterfactuals change; one per method and metric.
        predictions: the predictions artefact.
        counterfactual_predictions: the predictions for the counterfactuals.
        confidence: coverage of the intervals.
        target: the class that is explained, the true or the predicted one.

    Raises:
        InputError: a file does not hold what was written, or is of another trained classifier.
    """
    predicted, metadata = read_artefact(predictions, "predictions")
    ids = cell_of(metadata)
    effects = _effects(predicted, counterfactual_predictions, ids, target)
    rows: list[Row] = []
    facts: dict[str, object] = {}
    for table, metadata in read_all("scores", scores, (predictions, ids)):
        facts = metadata.compared
        columns = (table.column(name).to_pylist() for name in ("example_id", "group", "score"))
        scored = list(zip(*columns, strict=True))
        for pair in combinations(metadata.groups, 2):
            with_effects = [
                (score, effects[key])
                for example, group, score in scored
                if group in pair and (key := (example, pair[1 - pair.index(group)])) in effects
            ]
            attributions = [score for score, _ in with_effects]
            moves = [effect for _, effect in with_effects]
            correlation = rank_correlation(attributions, moves, confidence=confidence)
            row = {
                **scored_of(metadata),
                "group_a": pair[0],
                "group_b": pair[1],
                "n_unchanged": sum(map(math.isnan, moves)),
            }
            rows.append({**row, **asdict(correlation)})
    return StageResult(rows, ids, facts)


def _effects(
    predicted: pa.Table, path: Path, ids: Ids, target: str
) -> dict[tuple[str, str], float]:
    """Return how far probabilities move, by example and other group; NaN where no word changes."""
    table, metadata = read_artefact(path, "counterfactual_predictions")
    require_same_cell(("predictions", ids), (path, metadata.ids))
    names = ("example_id", "probabilities", "label" if target == "label" else "predicted")
    columns = zip(*(predicted.column(name).to_pylist() for name in names), strict=True)
    explained_classes = ((example, (target, p[target])) for example, p, target in columns)
    predictions = Lookup("predictions", "prediction of example", explained_classes)
    effects: dict[tuple[str, str], float] = {}
    for changed in records(ChangedPrediction, table):
        explained, probability = predictions[changed.example_id]
        effect = abs(probability - changed.probabilities[explained])
        effects[changed.example_id, changed.group_to] = effect if changed.n_changed else math.nan
    return effects
