"""Which words of each example its counterfactuals change: from the artefact to metrics."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from exparity.artefacts.files import read_artefact
from exparity.core.errors import InputError
from exparity.counterfactuals import changed_words
from exparity.stages.cell import require_same_cell
from exparity.types import BoolArray, Example

ChangedWords = dict[str, BoolArray]
"""(w,) by example: True where a counterfactual, of any other group, has another word."""


def read_changed_words(
    paths: Sequence[Path], examples: Sequence[Example], data: Path, dataset: str
) -> ChangedWords:
    """Read which words of each example its counterfactuals change."""
    if len(paths) > 1:
        raise InputError(
            f"{paths[1]}: is a second counterfactuals artefact; give that of {dataset}"
        )
    words = {example.example_id: example.words for example in examples}
    changed: ChangedWords = {}
    for path in paths:
        table, metadata = read_artefact(path, "counterfactuals")
        require_same_cell((data, {"dataset": dataset}), (path, metadata.get("wildcards", {})))
        columns = (table.column(name).to_pylist() for name in ("example_id", "words"))
        for example, counterfactual in zip(*columns, strict=True):
            if example in words:
                marks = changed_words(words[example], counterfactual)
                changed[example] = changed.get(example, marks) | marks
    return changed


def n_unchanged(changed: ChangedWords, examples: Sequence[Example]) -> int:
    """Count the examples that no counterfactual changes a word of, or that have none."""
    return sum(not changed[e.example_id].any() if e.example_id in changed else 1 for e in examples)
