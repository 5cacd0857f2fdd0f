"""Analysis control: all scores of one trained classifier to rates of significance by chance."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from exparity.analyses import ExperimentView, analysis, fields
from exparity.artefacts.files import write_artefact
from exparity.core.errors import InputError
from exparity.core.flags import Output
from exparity.core.seeding import derive_seed
from exparity.stages.cell import cell_of, read_scores, require_same_cell


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
    columns=fields(
        ("scheme", pa.string()),
        ("test", pa.string()),
        ("group_a", pa.string()),
        ("group_b", pa.string()),
        ("n_permutations", pa.int64()),
        ("n_significant", pa.int64()),
        ("rate", pa.float64()),
        ("flags", pa.list_(pa.string())),
    ),
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
    from exparity.stats.permutation import permutation_control

    start = time.monotonic()
    parameters = {"alpha": alpha, "repeats": repeats, "schemes": list(schemes)}
    rows: list[dict[str, Any]] = []
    seen: dict[tuple[str, str], Path] = {}
    facts: dict[str, Any] = {}
    trained: dict[str, Any] = {}
    for path in scores:
        table, metadata = read_scores(path)
        ids = metadata["wildcards"]
        trained = trained or cell_of(metadata)
        require_same_cell((scores[0], trained), (path, ids))
        compared = {name: metadata[name] for name in ("groups", "attribute")}
        facts = facts or compared
        if compared != facts:
            raise InputError(
                f"{path}: compares {_text(compared)}, but {scores[0]} compares {_text(facts)}; "
                "evaluate both again"
            )
        cell = ids["method"], ids["metric"]
        if cell in seen:
            raise InputError(f"{path}: holds {cell[1]} of {cell[0]}, as {seen[cell]} does")
        seen[cell] = path
        try:
            results = permutation_control(
                table.column("score").to_pylist(),
                table.column("group").to_pylist(),
                facts["groups"],
                table.column("match_id").to_pylist(),
                seed=derive_seed(ids["seed"], "control", ids["dataset"], ids["model"], *cell),
                alpha=alpha,
                repeats=repeats,
                schemes=schemes,
            )
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
        for result in results:
            row = {"method": cell[0], "metric": cell[1], **asdict(result)}
            row["flags"] += metadata.get("flags", [])
            rows.append(row)
    if not rows:
        raise InputError("a control needs at least one scores artefact")
    write_artefact(
        output,
        "controls",
        rows,
        trained,
        stage="control",
        parameters=parameters,
        seconds=time.monotonic() - start,
        extra=facts,
    )


def _text(facts: Mapping[str, Any]) -> str:
    return f"{facts['attribute']} ({', '.join(facts['groups'])})"
