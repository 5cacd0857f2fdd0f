"""Analysis worst_group: which of many groups has the worst explanations, beyond chance?

Of many groups one always has the lowest mean, and small ones are the lowest most often. Means that
are shrunk towards the mean of all say how much of their range is left when chance is taken out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from exparity.analyses import StageResult, Table, analysis
from exparity.analyses.worst_group._spread import spread_of
from exparity.analyses.worst_group.section import findings
from exparity.artefacts.files import read_artefact
from exparity.core.flags import Range
from exparity.core.seeding import derive_seed
from exparity.stages.cell import cell_of, compared_in, read_all
from exparity.stages.skill import random_by
from exparity.stats.informative import informative
from exparity.stats.model_bias import is_collapsed
from exparity.stats.multiplicity import benjamini_hochberg


@analysis(
    "worst_group",
    level="seed",
    reads=("predictions", "scores", "random_scores"),
    writes={
        "worst_group": Table(
            "quantity group: string",
            "n: int64",
            "mean standard_error shrinkage shrunk_mean: float64",
            "n_groups: int64",
            "center tau q p range range_by_chance shrunk_range: float64",
            "lowest highest: string",
            "flags: list<string>",
            "p_bh: float64",
            keys=("method", "metric", "quantity", "group"),
            ids=("method", "metric"),
        )
    },
    display="Worst group",
    section=findings,
)
def worst_group_cell(
    predictions: Path,
    scores: Sequence[Path],
    random_scores: Sequence[Path] | None,
    *,
    permutations: Annotated[int, Range(at_least=99, at_most=100_000)] = 1999,
) -> StageResult:
    """Shrink the means of all groups, and tell their range from that by chance.

    A row is of the ``score``, or of the ``excess`` over random explanations where there are any.

    Args:
        predictions: the predictions artefact; one class for every text is flagged ``collapsed``.
        scores: scores artefacts of one dataset, model and seed; one per method and metric.
        random_scores: scores of random explanations by the same metrics; none without the control.
        permutations: how often groups are permuted.

    Raises:
        InputError: a file is damaged or of another trained classifier.
    """
    predicted, metadata = read_artefact(predictions, "predictions")
    ids_of_cell = cell_of(metadata)
    has_collapsed = is_collapsed(predicted.column("predicted").to_pylist())
    collapsed = ["collapsed"] if has_collapsed else []
    random = random_by(random_scores, "metric")
    rows: list[dict[str, Any]] = []
    facts: dict[str, Any] = {}
    for table, facts in read_all("scores", scores, (predictions, ids_of_cell)):
        ids = {name: facts["wildcards"][name] for name in ("method", "metric")}
        of_metric = random.get((str(ids["metric"]),))
        quantities = {"score": table.column("score").to_numpy()}
        if of_metric is not None and of_metric.are_scored_as(facts):
            quantities["excess"] = of_metric.excess(table)
        groups, sets = (table.column(name).to_pylist() for name in ("group", "match_id"))
        for quantity, values in quantities.items():
            key = ("worst_group", ids["method"], ids["metric"], quantity)
            found = spread_of(
                values,
                groups,
                facts["groups"],
                sets,
                permutations=permutations,
                seed=derive_seed(int(facts["wildcards"]["seed"]), *key),
            )
            flags = [*facts.get("flags", []), *collapsed]
            rows += [
                {**ids, "quantity": quantity, **row, "flags": [*row["flags"], *flags]}
                for row in found
            ]
    for quantity in ("score", "excess"):
        _correct([row for row in rows if row["quantity"] == quantity])
    return StageResult(rows, ids_of_cell, compared_in(facts))


def _correct(rows: Sequence[dict[str, Any]]) -> None:
    """Add p-values corrected over the methods and metrics by Benjamini and Hochberg."""
    cells = {(row["method"], row["metric"]): row["p"] for row in informative(rows)}
    corrected = dict(zip(cells, benjamini_hochberg(list(cells.values())).tolist(), strict=True))
    for row in rows:
        row["p_bh"] = corrected.get((row["method"], row["metric"]), math.nan)
