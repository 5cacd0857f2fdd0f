"""Our trained models beside the published ones: how they were made, and their own bias.

Rates are those of the class that the study calls positive, the second one of each dataset. The
prediction difference is the one that the study's code computes, which is defined without pairs too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from exparity.artefacts import layout
from exparity.artefacts.files import read_artefact, read_parquet
from exparity.core.errors import InputError
from exparity.models.catalogue import known_models
from exparity.published.matching import Names
from exparity.published.study import SCRATCH, PublishedStudy

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


def model_sources(results: Path, trained: Iterable[layout.Ids]) -> dict[str, ModelSource]:
    """Read how models were made from what their training left behind."""
    records: dict[str, list[Mapping[str, Any]]] = {}
    sizes: dict[str, int | None] = {}
    for ids in trained:
        model, path = str(ids["model"]), results / layout.path_of("predictions", ids)
        records.setdefault(model, [])
        try:
            records[model].append(read_parquet(path)[1]["parameters"])
        except (InputError, KeyError):
            continue
        if sizes.get(model) is None:
            sizes[model] = _parameters(results / layout.path_of("models", ids))
    sources = {}
    for model, of_model in records.items():
        spec = of_model[0].get("model", {}) if of_model else {}
        scratch = spec["init"] == "scratch" if "init" in spec else None
        epochs = {record.get("training", {}).get("epochs") for record in of_model} - {None}
        size = sizes.get(model)
        sources[model] = ModelSource(scratch, spec.get("checkpoint"), tuple(sorted(epochs)), size)
    return sources


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


def note_on(model: str, published: str, source: ModelSource, study: PublishedStudy) -> ModelNote:
    """Say how one of our models differs from the published one beside it."""
    if source.scratch is None:
        return ModelNote(model, published, None, "no record of how it was made")
    text, same = _start(source, published)
    expected = study.parameters.get(published.removesuffix(SCRATCH))
    if source.parameters is not None and expected is not None:
        text += f"; {source.parameters:,} parameters, published {expected:,}"
        if abs(source.parameters - expected) > _TOLERANCE * expected:
            same = False
        elif source.scratch and same is None:  # the size decides
            same = True
    return ModelNote(model, published, same, text)


def _start(source: ModelSource, published: str) -> tuple[str, bool | None]:
    """Return what it started from, and whether that is as published; None if that is open."""
    if source.scratch and published.endswith(SCRATCH):
        return "trained from scratch, as the published one", None
    if source.scratch:
        return "trained from scratch, the published one is pretrained", False
    text = f"started from {source.checkpoint}"
    if published.endswith(SCRATCH):
        return f"{text}, the published one was trained from scratch", False
    expected = known_models()[published].checkpoint if published in known_models() else None
    if source.checkpoint == expected:
        return text, True
    if expected is None or Path(str(source.checkpoint)).is_dir():
        return text, None  # a local copy, perhaps
    return f"{text}, the published one from {expected}", False


@dataclass(frozen=True)
class BiasMatch:
    """One quantity of one of our models beside the published one.

    Attributes:
        dataset: published id of the dataset.
        model, published: our id and the published id of the model.
        quantity: ``tpr``, ``tnr`` or ``apd``.
        ours, ours_sd: mean and standard deviation over seeds, dividing by their number as the study
            does.
        seeds: seeds with a defined value.
        theirs, theirs_sd: published mean and standard deviation.
        collapsed: seeds whose classifier predicts one class for every example.
    """

    dataset: str
    model: str
    published: str
    quantity: str
    ours: float
    ours_sd: float
    seeds: int
    theirs: float
    theirs_sd: float
    collapsed: int


def match_bias(
    results: Path, trained: Sequence[layout.Ids], study: PublishedStudy, names: Names
) -> list[BiasMatch]:
    """Read our bias artefacts, where there are any, and put them beside the published numbers."""
    measured: dict[tuple[str, str, str], list[tuple[float, bool]]] = defaultdict(list)
    for ids in trained:
        path = results / layout.path_of("bias", ids)
        for quantity, value, collapsed in _values(path) if path.is_file() else ():
            cell = str(ids["dataset"]), str(ids["model"]), quantity
            measured[cell].append((value, collapsed))
    matches = []
    for (dataset, model, quantity), seeds in measured.items():
        key = names["dataset"][dataset], names["model"][model], quantity
        values = [value for value, _ in seeds if value == value]
        if values and key in study.bias:
            ours = fmean(values), pstdev(values), len(values)
            n_collapsed = sum(collapsed for _, collapsed in seeds)
            theirs = study.bias[key]
            matches.append(BiasMatch(key[0], model, key[1], quantity, *ours, *theirs, n_collapsed))
    order = {key: position for position, key in enumerate(study.bias)}
    return sorted(matches, key=lambda m: (order[m.dataset, m.published, m.quantity], m.model))


def _values(path: Path) -> list[tuple[str, float, bool]]:
    """Return the study's name of each quantity, its value, and whether the classifier collapsed."""
    table, metadata = read_artefact(path, "bias")
    positive = metadata["labels"][1]
    wanted = {("tpr", positive): "tpr", ("tnr", positive): "tnr", ("apd_by_label", ""): "apd"}
    return [
        (wanted[key], row["value"], "collapsed" in row["flags"])
        for row in table.to_pylist()
        if row["group"] == "" and (key := (row["quantity"], row["class_name"])) in wanted
    ]
