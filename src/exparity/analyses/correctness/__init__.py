"""Analysis correctness: scores of one classifier's explanations, on all and on correct examples.

The published benchmark reports them on the sentences that the classifier gets right, and on all
(Wilming et al. 2024, section 3.1 and figure 9).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exparity.analyses import StageResult, Table, analysis, fields
from exparity.analyses.correctness.section import findings
from exparity.artefacts.columns import record_columns
from exparity.artefacts.files import read_artefact
from exparity.stages.cell import Lookup, cell_of, compared_in, read_all
from exparity.types import BoolArray, FloatArray

SUBSETS = ("all", "correct", "correct_sets")
"""All examples; those that are classified correctly; those of sets that wholly are."""


@dataclass(frozen=True)
class Performance:
    """Scores of one method on some of the examples.

    Attributes:
        subset: which of them, of :data:`SUBSETS`.
        group: of which group; empty for all.
        n: scores that are defined.
        n_undefined: scores that are not.
        mean: their mean; NaN if there is none.
        sd: their standard deviation, dividing by n − 1; NaN for fewer than two.
        median: their median; NaN if there is none.
    """

    subset: str
    group: str
    n: int
    n_undefined: int
    mean: float
    sd: float
    median: float


def performance(
    scores: Sequence[float] | FloatArray,
    right: Sequence[bool] | BoolArray,
    groups: Sequence[str],
    order: Sequence[str],
    sets: Sequence[str | None] | None = None,
) -> list[Performance]:
    """Describe scores, over all groups and in each."""
    values = np.asarray(scores, dtype=np.float64)
    correct = np.asarray(right, dtype=bool)
    names = np.asarray(groups, dtype=object)
    masks = {"all": np.ones(len(values), bool), "correct": correct}
    if sets is not None and any(match is not None for match in sets):
        masks["correct_sets"] = _of_correct_sets(correct, sets)
    return [
        _described(subset, group, values[mask & (names == group)] if group else values[mask])
        for subset, mask in masks.items()
        for group in ("", *order)
    ]


def _of_correct_sets(correct: BoolArray, sets: Sequence[str | None]) -> BoolArray:
    wrong = {match for match, right in zip(sets, correct, strict=True) if not right}
    return np.array([match is not None and match not in wrong for match in sets], dtype=bool)


def _described(subset: str, group: str, scores: FloatArray) -> Performance:
    defined = scores[~np.isnan(scores)]
    return Performance(
        subset=subset,
        group=group,
        n=len(defined),
        n_undefined=len(scores) - len(defined),
        mean=float(defined.mean()) if len(defined) else np.nan,
        sd=float(defined.std(ddof=1)) if len(defined) > 1 else np.nan,
        median=float(np.median(defined)) if len(defined) else np.nan,
    )


@analysis(
    "correctness",
    level="seed",
    reads=("scores", "predictions"),
    writes={
        "correctness": Table(
            fields(*record_columns(Performance).items()),
            keys=("method", "metric", "subset", "group"),
            ids=("method", "metric"),
        )
    },
    needs=("rationale",),
    of_metrics={"scores": "rationale"},
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
    columns = table.select(["example_id", "predicted", "label"]).to_pylist()
    outcomes = ((row["example_id"], row["predicted"] == row["label"]) for row in columns)
    right = Lookup(predictions, "prediction of example", outcomes)
    rows: list[dict[str, Any]] = []
    facts: dict[str, Any] = {}
    for table, metadata in read_all("scores", scores, (predictions, ids)):
        facts = compared_in(metadata)
        cell = {name: metadata["wildcards"][name] for name in ("method", "metric")}
        parts = performance(
            table.column("score").to_numpy(),
            [right[example] for example in table.column("example_id").to_pylist()],
            table.column("group").to_pylist(),
            metadata["groups"],
            table.column("match_id").to_pylist(),
        )
        rows += [{**cell, **asdict(part)} for part in parts]
    return StageResult(rows, ids, facts)
