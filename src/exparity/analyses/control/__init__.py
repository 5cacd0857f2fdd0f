"""Analysis control: all scores of one trained classifier to rates of significance by chance."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from exparity.analyses import ExperimentView, analysis, fields
from exparity.analyses.reading import read_compared
from exparity.artefacts.columns import record_columns
from exparity.artefacts.files import write_artefact
from exparity.core.errors import InputError
from exparity.core.flags import Output
from exparity.core.progress import Progress
from exparity.core.seeding import derive_seed
from exparity.stages.cell import cell_of
from exparity.stats.permutation import PermutedTest, permutation_control


def _settle(experiment: ExperimentView, ids: Mapping[str, Any]) -> dict[str, Any] | None:
    """Take the options from ``controls``, and alpha from that of the classifier's tests.

    One job permutes the groups for every method and metric, so that of ``overrides`` only those
    count that name neither.
    """
    if not experiment.has_controls:
        return None
    controls: Mapping[str, Any] = experiment.config["controls"]["permutation"]
    return {**controls, "alpha": experiment.statistics(ids)["alpha"]}


@analysis(
    "control",
    level="seed",
    reads=("scores",),
    artefact="controls",
    columns=fields(*record_columns(PermutedTest).items()),
    keys=("method", "metric", "scheme", "test", "group_a", "group_b"),
    ids=("method", "metric"),
    block="controls.permutation",
    minutes=60,
    settle=_settle,
)
def control_cells(
    scores: Sequence[Path],
    output: Output,
    *,
    alpha: float = 0.05,
    repeats: int = 100,
    schemes: tuple[Literal["within_sets", "across_rows"], ...] = ("within_sets", "across_rows"),
) -> None:
    """Permute the group labels of scores artefacts and test each permutation.

    Args:
        scores: scores artefacts of one dataset, model and seed; one per method and metric.
        output: the controls artefact to write.
        alpha: largest p-value that is significant.
        repeats: permutations of each test.
        schemes: which labels change places: those within each matched set, or those of all rows.

    Raises:
        InputError: a file does not hold the scores that were written, is of another trained
            classifier than the first or of the same method and metric as another, or an option is
            out of range.
    """
    start = time.monotonic()
    rows: list[dict[str, Any]] = []
    facts: dict[str, Any] = {}
    options = {"alpha": alpha, "repeats": repeats, "schemes": schemes}
    with Progress(len(scores), "permuting", "tables") as progress:
        for path, table, facts in read_compared("control", scores):
            rows += _permuted(path, table, facts, options)
            progress.advance()
    write_artefact(
        output,
        "controls",
        rows,
        cell_of(facts),
        stage="control",
        parameters={"alpha": alpha, "repeats": repeats, "schemes": list(schemes)},
        seconds=time.monotonic() - start,
        extra={name: facts[name] for name in ("groups", "attribute")},
    )


def _permuted(
    path: Path, table: pa.Table, metadata: Mapping[str, Any], options: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of one scores artefact."""
    columns = (table.column(name).to_pylist() for name in ("score", "group", "match_id"))
    values, groups, sets = columns
    ids = metadata["wildcards"]
    names = (str(ids[name]) for name in ("dataset", "model", "method", "metric"))
    seed = derive_seed(ids["seed"], "control", *names)
    try:
        tests = permutation_control(values, groups, metadata["groups"], sets, seed=seed, **options)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    for test in tests:
        test.flags.extend(metadata.get("flags", []))
        yield {"method": ids["method"], "metric": ids["metric"], **asdict(test)}
