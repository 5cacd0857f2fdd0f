"""Rows of the inputs of a stage, and checks that inputs belong to one cell and to each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from exparity.artefacts.columns import KEY
from exparity.artefacts.files import read_artefact
from exparity.artefacts.ids import Ids, Provenance
from exparity.artefacts.lineage import MANIFEST
from exparity.core.errors import InputError
from exparity.stats.causal_bias import CounterfactualPrediction
from exparity.types import Example

_CELL = ("dataset", "model", "seed")
Key = TypeVar("Key")
Value = TypeVar("Value")


def require_same_cell(*inputs: tuple[str | Path, Mapping[str, object]]) -> None:
    """Refuse inputs of different datasets, models or seeds."""
    for name in _CELL:
        named = [(source, ids[name]) for source, ids in inputs if name in ids]
        for other, value in named[1:]:
            first, expected = named[0]
            if value != expected:
                raise InputError(
                    f"{other}: is of {name} '{value}', but {first} is of '{expected}'; give files "
                    f"of one {name}"
                )


class Lookup(dict[Key, Value]):
    """The content of an input by key, such as the id of an example; a missing one is refused."""

    def __init__(self, source: str | Path, what: str, content: Iterable[tuple[Key, Value]]) -> None:
        super().__init__(content)
        self._named = f"{source}: has no {what}"

    def __missing__(self, key: Key) -> Value:
        raise InputError(f"{self._named} '{key}'; give files that belong together")


def read_all(
    artefact: str,
    paths: Sequence[Path],
    *others: tuple[str | Path, Mapping[str, object]],
    over: Sequence[str] = (),
) -> Iterator[tuple[pa.Table, Provenance]]:
    """Read artefacts of one cell, whose ids in ``over`` may differ; ``others`` are of the same."""
    first: tuple[tuple[Path, Mapping[str, object]], ...] = ()
    for path in paths:
        table, metadata = read_artefact(path, artefact)
        shared = {name: value for name, value in cell_of(metadata).items() if name not in over}
        first = first or ((path, shared),)
        require_same_cell(*others, *first, (path, shared))
        yield table, metadata


@dataclass(frozen=True)
class Prediction:
    """A row of predictions: what a classifier says of a test text."""

    example_id: str
    group: str
    match_id: str | None
    label: int
    predicted: int
    probabilities: list[float]


@dataclass(frozen=True)
class Counterfactual:
    """A row of counterfactuals: a text as it is with another group."""

    example_id: str
    split: str
    group_to: str
    words: list[str]
    n_changed: int


@dataclass(frozen=True)
class ChangedPrediction:
    """A row of counterfactual predictions: what it says of a text of another group."""

    example_id: str
    group_to: str
    predicted: int
    probabilities: list[float]
    n_changed: int

    def at(self, place: int) -> CounterfactualPrediction:
        """Return the prediction for the example at a place among others."""
        return CounterfactualPrediction(
            place, self.group_to, self.predicted, self.probabilities, self.n_changed
        )


def cell_of(metadata: Provenance) -> Ids:
    """Return dataset, model and seed of an artefact by its metadata."""
    return metadata.ids.only(*_CELL)


def model_of(metadata: Provenance) -> Ids:
    """Return dataset and model of an artefact by its metadata."""
    return metadata.ids.only(*_CELL[:2])


def scored_of(metadata: Provenance) -> Ids:
    """Return method and metric of scores by their metadata."""
    return metadata.ids.only("method", "metric")


def key_of(example: Example) -> dict[str, object]:
    """Return the values of the columns :data:`~exparity.artefacts.columns.KEY` of an example."""
    return {column.name: getattr(example, column.name) for column in KEY}


def checkpoint_ids(checkpoint: Path) -> Ids:
    """Return dataset, model and seed of a checkpoint; nothing of one that comes from elsewhere."""
    from exparity.models.manifest import DamageError, read_manifest

    path = checkpoint / MANIFEST
    if not path.is_file():
        return Ids()
    try:
        manifest = read_manifest(path)
    except DamageError as error:
        raise InputError(f"checkpoint {checkpoint}: {error}; run finetune again") from error
    return Ids({name: manifest[name] for name in _CELL if name in manifest})
