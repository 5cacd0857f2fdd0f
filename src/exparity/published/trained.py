"""Our trained models beside the published ones: how they were made, and their own bias.

Rates are those of the class that the study calls positive, the second one of each dataset. The
prediction difference is the one that the study's code computes, which is defined without pairs too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from exparity.artefacts import layout
from exparity.artefacts.files import read_artefact, read_parquet
from exparity.core.errors import InputError
from exparity.models.catalogue import known_models
from exparity.models.size import n_weights
from exparity.published.matching import Names
from exparity.published.study import SCRATCH, Key, PublishedStudy

_TOLERANCE = 0.01


@dataclass(frozen=True)
class ModelSource:
    """Where the weights of one of our models come from; None where there is no record."""

    scratch: bool | None
    checkpoint: str | None
    parameters: int | None


@dataclass(frozen=True)
class ModelNote:
    """What is to be known when one of our models stands beside a published one.

    It is ``as_published`` if it started from the published checkpoint, or at random with the
    published number of parameters; None if that is not known.
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
        folder = results / layout.path_of("models", ids)
        if sizes.get(model) is None and folder.is_dir():
            sizes[model] = n_weights(str(folder))
    sources = {}
    for model, of_model in records.items():
        spec = of_model[0].get("model", {}) if of_model else {}
        scratch = spec["init"] == "scratch" if "init" in spec else None
        size = sizes.get(model)
        sources[model] = ModelSource(scratch, spec.get("checkpoint"), size)
    return sources


def note_on(model: str, published: str, source: ModelSource, study: PublishedStudy) -> ModelNote:
    """Say how one of our models differs from the published one beside it."""
    if source.scratch is None:
        return ModelNote(model, published, None, "no record of how it was made")
    text, same = _start(source, published)
    size = study.values.get(Key("", published.removesuffix(SCRATCH), metric="parameters"))
    if source.parameters is not None and size is not None and size.mean is not None:
        expected = int(size.mean)
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

    ``dataset`` and ``published`` are published ids, ``model`` is ours. Standard deviations are over
    ``seeds`` with a defined value, and divide by their number as the study does; ``collapsed`` ones
    predict one class for every example.
    """

    dataset: str
    model: str
    published: str
    quantity: str
    ours: float
    ours_sd: float
    seeds: int
    theirs: float | None
    theirs_sd: float | None
    collapsed: int


def match_bias(
    results: Path, trained: Sequence[layout.Ids], study: PublishedStudy, names: Names
) -> list[BiasMatch]:
    """Put our bias artefacts, where there are any, beside the published numbers.

    ``trained`` has the ids of every training, of published datasets and models.
    """
    measured: dict[tuple[Key, str], list[tuple[float, bool]]] = defaultdict(list)
    for ids in trained:
        path, model = results / layout.path_of("bias", ids), str(ids["model"])
        for quantity, value, collapsed in _values(path) if path.is_file() else ():
            dataset = names["dataset"][str(ids["dataset"])]
            key = Key(dataset, names["model"][model], metric=quantity)
            measured[key, model].append((value, collapsed))
    order = {key: position for position, key in enumerate(study.values)}
    known = [(key, model) for key, model in measured if key in order]
    matches = []
    for key, model in sorted(known, key=lambda of: (order[of[0]], of[1])):
        seeds, theirs = measured[key, model], study.values[key]
        values = [value for value, _ in seeds if value == value]
        if values:
            ours = fmean(values), pstdev(values), len(values)
            about = key.dataset, model, key.model, key.metric
            n_collapsed = sum(collapsed for _, collapsed in seeds)
            matches.append(BiasMatch(*about, *ours, theirs.mean, theirs.sd, n_collapsed))
    return matches


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
