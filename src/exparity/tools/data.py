"""Inputs of experiments from elsewhere: raw files of datasets and checkpoints of models."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from exparity.artefacts.lineage import sha256_of
from exparity.config.command_line import read_experiment
from exparity.core.errors import InputError, require_known
from exparity.core.escaping import say
from exparity.core.flags import ConfigFiles, Flag, Folder, Overrides
from exparity.core.registry import Entry, is_on_hub, paths_of
from exparity.data import DATASETS
from exparity.data.facts import DatasetFacts
from exparity.data.files import DataSource
from exparity.data.hub import local_copy

if TYPE_CHECKING:
    from exparity.config.experiment import Experiment
    from exparity.models.spec import ModelSpec


_Known = tuple[Entry[DatasetFacts], Mapping[str, Any]]
"""A dataset and its options."""


def data(
    action: Literal["fetch", "check"],
    ids: Annotated[Sequence[str], Flag(metavar="DATASET")] = (),
    /,
    *,
    configfile: ConfigFiles = (),
    config: Overrides = (),
    models: Annotated[Sequence[str], Flag(metavar="MODEL")] = (),
    data_dir: Folder | None = None,
) -> None:
    """Fetch or check raw files, and fetch checkpoints.

    Args:
        action: what to do.
        ids: datasets; without any, those of the config, or all that have raw files.
        configfile: the experiment: its datasets, and with fetch also its models.
        config: values over those of the config file.
        models: fetch these checkpoints only, into the Hub's cache (HF_HOME): ids of the config or
            of known models, or ORG/NAME@REVISION.
        data_dir: folder of raw files; the config's if None, or ``data``.
    """
    experiment = read_experiment(configfile, config) if configfile or config else None
    configured = experiment.config.data_dir if experiment else None
    folder = data_dir or configured or os.environ.get("EXPARITY_DATA_DIR") or "data"
    source = DataSource(Path(folder), download=action == "fetch")
    if ids or not models:
        for line in raw_files(source, ids, experiment):
            say(line, flush=True)
    if source.download and (models or (experiment and not ids)):
        for line in fetch_models(models, experiment):
            say(line, flush=True)


def raw_files(
    source: DataSource, ids: Sequence[str], experiment: Experiment | None = None
) -> Iterator[str]:
    """Yield the state of each file of the datasets; missing ones are downloaded if allowed.

    Without ids, these are the datasets of the config, or all that have raw files.
    """
    if experiment is None:
        listed = ids or [name for name in DATASETS.ids() if DATASETS.get(name).facts.files]
        datasets: Mapping[str, _Known] = {name: (DATASETS.get(name), {}) for name in listed}
    else:
        datasets = {
            name: (entry.entry, entry.params) for name, entry in experiment.datasets.items()
        }
    bad = 0
    for name in ids or datasets:
        require_known(name, datasets, f"the config has no dataset '{name}'")
        entry, options = datasets[name]
        for file in entry.facts.files:
            path = source.folder / file.path
            if source.download:
                source.fetch(file)
            if not path.is_file():
                state = "missing"
            elif file.sha256 is None:
                state = f"not verified: the published SHA-256 is not known, here {sha256_of(path)}"
            elif sha256_of(path) == file.sha256:
                state = "verified"
            else:
                state = "ALTERED" if options.get("verify", True) else "altered, as allowed"
            bad += state in ("missing", "ALTERED")
            yield f"{name}: {path} {state}"
        if source.download:
            named = paths_of(options.get("path", ""), name) if entry.facts.from_hub else []
            addresses = [path for path in named if is_on_hub(path)]
            for address in addresses:
                copy = local_copy(address, options.get("revision"), download=True)
                yield f"{name}: {address} is here: {copy}"
            if not (entry.facts.files or addresses):
                yield f"{name}: nothing to fetch"
    if bad:
        raise InputError(
            f"{bad} files are missing or altered below {source.folder.absolute()}; "
            "`exparity data fetch` downloads missing ones, delete altered ones first"
        )


def _spec_of(name: str) -> ModelSpec:
    """Return a model of the catalogue, or a checkpoint ``ORG/NAME@REVISION``."""
    from exparity.models.catalogue import known_models, known_spec
    from exparity.models.folders import check_checkpoint
    from exparity.models.spec import ModelSpec

    if name in known_models():
        return known_spec(name)
    checkpoint, _, revision = name.partition("@")
    check_checkpoint(checkpoint)
    return ModelSpec(checkpoint=checkpoint, revision=revision or None)


def fetch_models(names: Sequence[str], experiment: Experiment | None = None) -> Iterator[str]:
    """Download checkpoints into the Hub's cache, and yield where each is; without names, all."""
    from exparity.models.folders import WEIGHT_FILES, folder_of

    models = experiment.models if experiment else {}
    specs = {
        name: models[name].spec if name in models else _spec_of(name) for name in names or models
    }
    for name, spec in specs.items():
        if spec.checkpoint is None or Path(spec.checkpoint).is_dir():
            yield f"{name}: nothing to fetch"
            continue
        weights = spec.init == "pretrained"
        folder = folder_of(spec.checkpoint, spec.revision, weights=weights)
        if weights and not any((folder / file).is_file() for file in WEIGHT_FILES):
            raise InputError(
                f"checkpoint {spec.source}: has no weights in safetensors, and others are not "
                "read; name a revision that has them, such as the pull request with its "
                "conversion (refs/pr/N)"
            )
        unpinned = "" if spec.revision else "; pin what you use with a revision"
        yield f"{name}: {spec.source} is here: {folder}{unpinned}"


def fetch(experiment: Experiment, log: str) -> None:
    """Fetch all raw files and checkpoints of an experiment; what is printed goes to a log too."""
    source = DataSource(Path(experiment.config.data_dir))
    Path(log).parent.mkdir(parents=True, exist_ok=True)
    with Path(log).open("w", encoding="utf-8") as file:
        for line in chain(raw_files(source, (), experiment), fetch_models((), experiment)):
            say(line, flush=True)
            print(line, file=file, flush=True)
