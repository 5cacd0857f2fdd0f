"""Analysis correctness: scores of one classifier's explanations, on all and on correct examples.

The published benchmark reports them on the sentences that the classifier gets right, and on all
(Wilming et al. 2024, section 3.1 and figure 9).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from exparity.analyses import StageResult, Table, analysis
from exparity.analyses.correctness.section import findings
from exparity.artefacts.columns import Row, records
from exparity.artefacts.files import read_artefact
from exparity.quantities.inputs import Lookup, Prediction, cell_of, read_all, scored_of
from exparity.types import BoolArray, FloatArray

SUBSETS = ("all", "correct", "correct_sets")
"""All examples; those that are classified correctly; those of sets that wholly are."""


def performance(
    scores: Sequence[float] | FloatArray,
    right: Sequence[bool] | BoolArray,
    groups: Sequence[str],
    order: Sequence[str],
    sets: Sequence[str | None],
) -> list[dict[str, object]]:
    """Describe scores on each of :data:`SUBSETS`, over all groups and in each.

    The subset of sets is left out where there are no sets.

    Args:
        scores: (n,) scores; NaN where undefined.
        right: (n,) whether each example is classified correctly.
        groups: (n,) group of each example.
        order: the groups.
        sets: (n,) matched set of each example, None for one without.
    """
    values = np.asarray(scores, dtype=np.float64)
    correct = np.asarray(right, dtype=bool)
    group_names = np.asarray(groups, dtype=object)
    wrong_sets = {None, *np.asarray(sets, dtype=object)[~correct]}
    in_right_set = np.array([name not in wrong_sets for name in sets])
    masks = dict(zip(SUBSETS, (np.ones(len(values), bool), correct, in_right_set), strict=True))
    if all(name is None for name in sets):
        del masks["correct_sets"]
    return [
        {
            "subset": subset,
            "group": group,
            **_described(values[mask & (group_names == group)] if group else values[mask]),
        }
        for subset, mask in masks.items()
        for group in ("", *order)
    ]


def _described(scores: FloatArray) -> dict[str, object]:
    """Return numbers, mean, standard deviation (n − 1) and median of the defined scores."""
    defined = scores[~np.isnan(scores)]
    n = len(defined)
    return {
        "n": n,
        "n_undefined": len(scores) - n,
        "mean": float(defined.mean()) if n else np.nan,
        "sd": float(defined.std(ddof=1)) if n > 1 else np.nan,
        "median": float(np.median(defined)) if n else np.nan,
    }


@analysis(
    "correctness",
    level="seed",
    reads=("scores", "predictions"),
    writes={
        "correctness": Table(
            "subset group: string",
            "n n_undefined: int64",
            "mean sd median: float64",
            keys=("method", "metric", "subset", "group"),
            ids=("method", "metric"),
        )
    },
    needs=("rationale",),
    metric_needs={"scores": "rationale"},
    memory_mb=4000,
    minutes=10,
    section=findings,
)
def correctness_cell(scores: Sequence[Path], predictions: Path) -> StageResult:
    """Describe the scores of every method and metric, on the examples of each subset.

    Args:
        scores: scores artefacts of one dataset, model and seed; one per method and metric.
        predictions: the predictions artefact of the same.

    Raises:
        InputError: a file is damaged or of another trained classifier, or holds an example without
            a prediction.
    """
    table, metadata = read_artefact(predictions, "predictions")
    ids = cell_of(metadata)
    outcomes = (
        (prediction.example_id, prediction.predicted == prediction.label)
        for prediction in records(Prediction, table)
    )
    right = Lookup(predictions, "prediction of example", outcomes)
    rows: list[Row] = []
    facts: dict[str, object] = {}
    for table, metadata in read_all("scores", scores, (predictions, ids)):
        facts = metadata.compared
        cell = scored_of(metadata)
        parts = performance(
            table.column("score").to_numpy(),
            [right[example] for example in table.column("example_id").to_pylist()],
            table.column("group").to_pylist(),
            metadata.groups,
            table.column("match_id").to_pylist(),
        )
        rows += [{**cell, **part} for part in parts]
    return StageResult(rows, ids, facts)
