"""How our models were made, and whether they are what the study used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from exparity.artefacts.files import read_parquet
from exparity.core.errors import InputError
from exparity.models.catalogue import KNOWN_MODELS
from exparity.report.published.study import SCRATCH, PublishedStudy

_TOLERANCE = 0.01


@dataclass(frozen=True)
class ModelSource:
    """Where the weights of one of our models come from.

    Attributes:
        scratch: whether they started at random; None if there is no record.
        checkpoint: what they started from otherwise.
        epochs: training epochs, of every dataset that it was trained on.
        parameters: number of parameters; None if the checkpoint is not there.
    """

    scratch: bool | None
    checkpoint: str | None
    epochs: tuple[int, ...]
    parameters: int | None


@dataclass(frozen=True)
class ModelNote:
    """What is to be known when one of our models stands beside a published one.

    Attributes:
        model: our id.
        published: published id.
        as_published: whether it started from the published checkpoint, or at random with the
            published number of parameters; None if that is not known.
        text: the facts in words.
    """

    model: str
    published: str
    as_published: bool | None
    text: str


def model_sources(results: Path, trained: Iterable[tuple[str, str, int]]) -> dict[str, ModelSource]:
    """Read how models were made from what their training left behind.

    Args:
        results: folder of all results.
        trained: dataset, model and seed of every training.

    Returns:
        Sources by model. What is missing or unreadable is None.
    """
    records: dict[str, list[Mapping[str, Any]]] = {}
    sizes: dict[str, int | None] = {}
    for dataset, model, seed in sorted(set(trained)):
        path = results / "predictions" / dataset / model / f"{seed}.parquet"
        records.setdefault(model, [])
        try:
            records[model].append(read_parquet(path)[1]["parameters"])
        except (InputError, KeyError):
            continue
        if sizes.get(model) is None:
            sizes[model] = _parameters(results / "models" / dataset / model / str(seed))
    return {model: _source(found, sizes.get(model)) for model, found in records.items()}


def _source(records: list[Mapping[str, Any]], parameters: int | None) -> ModelSource:
    spec = records[0].get("model", {}) if records else {}
    epochs = {record.get("training", {}).get("epochs") for record in records}
    return ModelSource(
        scratch=spec["init"] == "scratch" if "init" in spec else None,
        checkpoint=spec.get("checkpoint"),
        epochs=tuple(sorted(e for e in epochs if e is not None)),
        parameters=parameters,
    )


def _parameters(folder: Path) -> int | None:
    """Count the numbers in a checkpoint's weights from the heads of the files alone."""
    from safetensors import SafetensorError, safe_open

    total = 0
    for path in sorted(folder.glob("*.safetensors")):
        try:
            with safe_open(path, framework="numpy") as file:
                names = file.keys()
                total += sum(prod(file.get_slice(name).get_shape()) for name in names)
        except (SafetensorError, OSError):
            return None
    return total or None


def note_on(
    model: str, published: str, source: ModelSource | None, study: PublishedStudy
) -> ModelNote:
    """Say how one of our models differs from the published one beside it."""
    if source is None or source.scratch is None:
        return ModelNote(model, published, None, "no record of how it was made")
    start: str
    same: bool | None
    if source.scratch != published.endswith(SCRATCH):
        start, same = _other_start(source), False
    else:
        start, same = _same_start(source, published)
    facts = [start]
    expected = study.parameters.get(published.removesuffix(SCRATCH))
    if source.parameters is not None and expected is not None:
        facts.append(f"{source.parameters:,} parameters, published {expected:,}")
        close = abs(source.parameters - expected) <= _TOLERANCE * expected
        same = False if not close else True if source.scratch and same is None else same
    return ModelNote(model, published, same, "; ".join(facts))


def _other_start(source: ModelSource) -> str:
    if source.scratch:
        return "trained from scratch, the published one is pretrained"
    return f"started from {source.checkpoint}, the published one was trained from scratch"


def _same_start(source: ModelSource, published: str) -> tuple[str, bool | None]:
    """Return the facts, and whether the start is the published one; None if that is open."""
    if source.scratch:
        return "trained from scratch, as the published one", None  # the size decides
    expected = KNOWN_MODELS[published].checkpoint if published in KNOWN_MODELS else None
    if source.checkpoint == expected:
        return f"started from {source.checkpoint}", True
    if expected is None or Path(str(source.checkpoint)).is_dir():
        return f"started from {source.checkpoint}", None  # a local copy, perhaps
    return f"started from {source.checkpoint}, the published one from {expected}", False
