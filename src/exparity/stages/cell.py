"""Checks of a stage's inputs: one cell, every example once, and possible values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from exparity.artefacts.columns import KEY
from exparity.artefacts.files import read_artefact
from exparity.artefacts.lineage import MANIFEST
from exparity.core.errors import InputError
from exparity.types import Example, first_stray

_CELL = ("dataset", "model", "seed")
_MADE_BY = {
    "predictions": "finetune",
    "explanations": "explain",
    "scores": "evaluate",
    "random_scores": "negative-control",
    "removal_limits": "removal-limits",
    "counterfactual_predictions": "counterfactual-predictions",
}


def require_same_cell(*inputs: tuple[str | Path, Mapping[str, Any]]) -> None:
    """Refuse inputs of different datasets, models or seeds."""
    for name in _CELL:
        named = [(of, ids[name]) for of, ids in inputs if name in ids]
        for other, value in named[1:]:
            first, expected = named[0]
            if value != expected:
                raise InputError(
                    f"{other}: is of {name} '{value}', but {first} is of '{expected}'; give files "
                    f"of one {name}"
                )


def cell_of(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return dataset, model and seed of an artefact from :func:`read_examples`."""
    return {name: metadata["wildcards"][name] for name in _CELL}


def compared_in(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the groups of an artefact, and what they are groups of."""
    return {name: metadata[name] for name in ("groups", "attribute")}


def key_of(example: Example) -> dict[str, Any]:
    """Return the values of the columns :data:`~exparity.artefacts.schemas.KEY` of an example."""
    return {column.name: getattr(example, column.name) for column in KEY}


def checkpoint_ids(checkpoint: Path) -> dict[str, Any]:
    """Return dataset, model and seed of a checkpoint; nothing of one that comes from elsewhere."""
    from exparity.models.manifest import DamageError, read_manifest

    path = checkpoint / MANIFEST
    if not path.is_file():
        return {}
    try:
        manifest = read_manifest(path)
    except DamageError as error:
        raise InputError(f"checkpoint {checkpoint}: {error}; run finetune again") from error
    return {name: manifest[name] for name in _CELL if name in manifest}


def read_examples(path: Path, artefact: str) -> tuple[pa.Table, dict[str, Any]]:
    """Read an artefact of one row an example, or one an example and draw or other group.

    See :func:`exparity.artefacts.files.read_artefact`.
    """
    table, metadata = read_artefact(path, artefact)
    ids = metadata.get("wildcards", {})
    if not set(_CELL) <= set(ids):
        raise InputError(f"{path}: names no cell; make it with `exparity {_MADE_BY[artefact]}`")
    for name in ids.keys() & set(table.column_names):
        strangers = set(table.column(name).to_numpy()) - {ids[name]}
        if strangers:
            raise InputError(
                f"{path}: is of {name} '{ids[name]}', but has rows of '{strangers.pop()}'; make it "
                "again"
            )
    check_rows(path, table, metadata)
    return table, metadata


def check_rows(path: Path, table: pa.Table, metadata: Mapping[str, Any]) -> None:
    """Refuse a table whose examples are not those written, each once, or once a draw or group."""
    written = metadata.get("rows", table.num_rows)
    if table.num_rows != written:
        raise InputError(
            f"{path}: has {table.num_rows} rows, but was written with {written}; make it again"
        )
    once = ("example_id", "draw", "group_to", "direction", "unit", "size")
    keys = [name for name in once if name in table.column_names]
    examples = Counter(zip(*(table.column(name).to_pylist() for name in keys), strict=True))
    if len(examples) < table.num_rows:
        (((example, *_), times),) = examples.most_common(1)
        raise InputError(f"{path}: example '{example}' is there {times} times; make it again")


def read_scores(
    path: Path, artefact: str = "scores", *, compared: bool = True
) -> tuple[pa.Table, dict[str, Any]]:
    """Read a ``scores`` artefact, or one of ``random_scores``: see :func:`read_examples`."""
    table, metadata = read_examples(path, artefact)
    if compared and len(metadata.get("groups", ())) < 2:
        raise InputError(f"{path}: names no groups to compare")
    scores = table.column("score").to_numpy()
    bounds = metadata.get("bounds", (-math.inf, math.inf))
    stray = first_stray(scores, bounds)
    if stray is not None:
        raise InputError(
            f"{path}: example '{table.column('example_id')[stray]}' has the score "
            f"{scores[stray]:g}, which is not from {bounds[0]:g} to {bounds[1]:g}; make it again"
        )
    return table, metadata
