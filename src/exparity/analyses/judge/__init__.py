"""Analysis judge: what may be concluded of every cell, from the gaps over all its trainings."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from exparity.analyses import ExperimentView, analysis, fields
from exparity.artefacts.files import read_tables, write_artefact
from exparity.artefacts.schemas import record_columns
from exparity.core.flags import Output
from exparity.stats.crossed import CrossedTest
from exparity.stats.verdicts import CLAIMS, judge

_NUMBERS = (
    *(f"{claim}_{correction}" for correction in ("bh", "holm") for claim in CLAIMS),
    "minimal_detectable_effect_corrected",
)
_VERDICTS = ("verdict", "verdict_strict")


def _settle(experiment: ExperimentView, ids: Mapping[str, Any]) -> dict[str, Any]:
    """Take the options from how tests are corrected in the whole study."""
    statistics = experiment.config["statistics"]
    return {"family": list(statistics["family"]), "alpha": statistics["alpha"]}


@analysis(
    "judge",
    level="experiment",
    reads=("across_trainings",),
    artefact="verdicts",
    columns=fields(
        ("quantity", pa.string()),
        *record_columns(CrossedTest).items(),
        *((name, pa.float64()) for name in _NUMBERS),
        *((name, pa.string(), True) for name in _VERDICTS),
    ),
    keys=("dataset", "model", "method", "metric", "group_a", "group_b", "quantity"),
    ids=("dataset", "model", "method", "metric"),
    display="Verdicts",
    block="statistics",
    settle=_settle,
)
def judge_cells(
    across_trainings: Sequence[Path],
    output: Output,
    *,
    family: Sequence[str] = ("dataset",),
    alpha: float = 0.05,
) -> None:
    """Judge every cell of a study, corrected for how many cells its family has.

    Scores, and their excess over random explanations, are judged apart from each other.

    Args:
        across_trainings: across_trainings artefacts, one for each dataset and model.
        output: the verdicts artefact to write.
        family: cells that agree in these ids are corrected together; all cells if it is empty.
        alpha: largest corrected p-value that is significant.

    Raises:
        InputError: a file is damaged, or ``family`` names something else than an id.
    """
    start = time.monotonic()
    rows = read_tables(across_trainings, "across_trainings").to_pylist()
    judged = judge(rows, family, alpha=alpha)
    write_artefact(
        output,
        "verdicts",
        judged,
        {},
        stage="judge",
        parameters={"family": list(family), "alpha": alpha},
        seconds=time.monotonic() - start,
    )
