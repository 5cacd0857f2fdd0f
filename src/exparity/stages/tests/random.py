"""Stage random_tests: the groups compared by the scores of random explanations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from exparity.artefacts.analyses import ExperimentView
from exparity.artefacts.columns import fields
from exparity.artefacts.running import Made, analysis
from exparity.stages.cell import cell_of, compared_in, read_scores, require_same_cell
from exparity.stats.compare import compare_all

_COLUMNS = fields(
    ("group_a", pa.string()),
    ("group_b", pa.string()),
    ("n_a", pa.int64()),
    ("n_b", pa.int64()),
    ("p", pa.float64()),
    ("wilcoxon_p", pa.float64()),
    ("cohens_d", pa.float64()),
    ("direction", pa.int8()),
    ("flags", pa.list_(pa.string())),
)


def _settle(experiment: ExperimentView, ids: Mapping[str, Any]) -> dict[str, Any] | None:
    """Take ``ddof`` from the statistics of the classifier's tests."""
    metrics = experiment.applying("metrics", ids["dataset"])
    needs = {experiment.metrics[id].entry.facts.needs for id in metrics}
    if not experiment.config["controls"]["random"]["draws"] or needs == {"explainer"}:
        return None
    return {"ddof": experiment.statistics(ids)["ddof"]}


@analysis(
    "random_tests",
    level="seed",
    reads=("random_scores",),
    artefact="random_tests",
    columns=fields(("draw", pa.int16())) + _COLUMNS,
    keys=("metric", "draw", "group_a", "group_b"),
    ids=("metric",),
    display="Tests of random explanations",
    always=True,
    settle=_settle,
)
def random_tests_cell(random_scores: Sequence[Path], *, ddof: Literal[0, 1] = 1) -> Made:
    """Compare the groups by the scores of random explanations, draw by draw.

    Args:
        random_scores: random_scores artefacts of one dataset, model and seed; one per metric.
        ddof: degrees of freedom taken off in the variances of d.

    Raises:
        InputError: a file does not hold the scores that were written, or is of another trained
            classifier than the first.
    """
    rows: list[dict[str, Any]] = []
    first: dict[str, Any] = {}
    for path in random_scores:
        table, metadata = read_scores(path, "random_scores")
        first = first or metadata
        require_same_cell((random_scores[0], cell_of(first)), (path, cell_of(metadata)))
        rows += _compared(table, metadata, ddof)
    return Made(rows, cell_of(first), compared_in(first))


def _compared(table: pa.Table, metadata: Mapping[str, Any], ddof: int) -> Iterator[dict[str, Any]]:
    """Yield the comparisons of every draw of one metric."""
    drawn = table.column("draw").to_numpy()
    for draw in np.unique(drawn).tolist():
        part = table.filter(drawn == draw)
        score, group, match = (
            part.column(name).to_pylist() for name in ("score", "group", "match_id")
        )
        for pair in compare_all(score, group, metadata["groups"], match, ddof=ddof, resamples=0):
            columns = {field.name: getattr(pair, field.name) for field in _COLUMNS}
            columns["flags"] = [*columns["flags"], *metadata.get("flags", ())]
            yield {"metric": metadata["wildcards"]["metric"], "draw": draw, **columns}
