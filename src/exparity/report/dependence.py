"""Dependence of label and group in the data of a study, in numbers and in words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow.compute as pc

from exparity.artefacts import layout
from exparity.artefacts.files import read_artefact
from exparity.stats.dependence import Dependence, dependence_by_split


def known_of_data(results: Path, dataset: str) -> tuple[dict[str, Dependence], int]:
    """Return how far label and group go together, and how many test examples have no marked word.

    Neither is known where the data are not there; the number is 0 where no word is marked at all.
    """
    path = results / layout.path_of("data", {"dataset": dataset})
    if not path.is_file():
        return {}, 0
    table = read_artefact(path, "data")[0]
    columns = (table.column(name).to_pylist() for name in ("label", "group", "split"))
    rationales = table.filter(pc.equal(table.column("split"), "test")).column("rationale")
    marked = sum(bool(marks) and any(marks) for marks in rationales.to_pylist())
    return dependence_by_split(*columns), len(rationales) - marked if marked else 0


def numbers_of(by_split: Mapping[str, Dependence]) -> str:
    """Return Cramér's V of each split in words."""
    values = {split: f"{d.v:.2f}" for split, d in by_split.items()}
    if len(values) == 1:
        return next(iter(values.values()))
    if len(set(values.values())) == 1:
        return f"{next(iter(values.values()))} in {' and '.join(values)}"
    return ", ".join(f"{value} in {split}" for split, value in values.items())
