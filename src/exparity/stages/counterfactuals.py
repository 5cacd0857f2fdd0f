"""Stage counterfactuals: every example as it would be in other groups, and what that changes."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from exparity.artefacts.analyses import ExperimentView, Table
from exparity.artefacts.files import read_artefact
from exparity.artefacts.running import StageResult, analysis
from exparity.core import flags
from exparity.counterfactuals import changed_words, counterfactuals_of
from exparity.data.table import read_prepared
from exparity.stages.cell import require_same_cell
from exparity.types import BoolArray, Example

log = logging.getLogger(__name__)

ChangedWords = dict[str, BoolArray]
"""(w,) by example: True where a counterfactual, of any other group, has another word."""


def _job_options(experiment: ExperimentView, ids: Mapping[str, Any]) -> dict[str, Any] | None:
    """Take the generator that the config names for a dataset; there may be none."""
    generator = experiment.generators.get(ids["dataset"])
    if generator is None:
        return None
    call = generator.call_with_files(f"counterfactuals.{ids['dataset']}")
    files = "".join(call.pop("files", {}).values())
    return {**call, "digest": call["digest"] + files}


@analysis(
    "counterfactuals",
    level="dataset",
    reads=("data",),
    writes={
        "counterfactuals": Table(
            "example_id split group group_to: string",
            "words: list<string>",
            "n_changed: int16",
            keys=("split", "example_id", "group_to"),
        )
    },
    display="Counterfactuals",
    always=True,
    memory_mb=4000,
    job_options=_job_options,
)
def make_counterfactuals(
    data: Path,
    *,
    use: flags.Id,
    params: flags.Params,
) -> StageResult:
    """Make the counterfactuals of a dataset: one per example and other group.

    Args:
        data: the data artefact.
        use: id of the generator.
        params: its options.

    Raises:
        InputError: an unknown generator or option, or one that does not fit the data.
    """
    prepared = read_prepared(data)
    make = counterfactuals_of(prepared, use, params)
    rows = [
        {
            "example_id": example.example_id,
            "split": example.split,
            "group": example.group,
            "group_to": made.group,
            "words": list(made.words),
            "n_changed": int(changed_words(example.words, made.words).sum()),
        }
        for example in prepared.examples
        for made in make(example)
    ]
    unchanged = sum(row["n_changed"] == 0 for row in rows)
    missing = len(prepared.examples) * (len(prepared.groups) - 1) - len(rows)
    log.info("%d counterfactuals, %d of them without a change", len(rows), unchanged)
    if missing:
        log.warning("%s: %d counterfactuals do not exist; left out", prepared.dataset, missing)
    notes = {"unchanged": unchanged, "missing": missing}
    return StageResult(rows, {"dataset": prepared.dataset}, {**prepared.compared, "notes": notes})


def read_changed_words(
    paths: Sequence[Path], examples: Sequence[Example], data: Path, dataset: str
) -> ChangedWords:
    """Read which words of each example its counterfactuals change."""
    words = {example.example_id: example.words for example in examples}
    changed: ChangedWords = {}
    for path in paths:
        table, metadata = read_artefact(path, "counterfactuals")
        require_same_cell((data, {"dataset": dataset}), (path, metadata["wildcards"]))
        columns = (table.column(name).to_pylist() for name in ("example_id", "words"))
        for example, counterfactual in zip(*columns, strict=True):
            if example in words:
                marks = changed_words(words[example], counterfactual)
                changed[example] = changed.get(example, marks) | marks
    return changed


def n_unchanged(changed: ChangedWords, examples: Sequence[Example]) -> int:
    """Count the different examples that no counterfactual changes a word of, or that have none."""
    ids = {example.example_id for example in examples}
    return sum(id not in changed or not changed[id].any() for id in ids)
