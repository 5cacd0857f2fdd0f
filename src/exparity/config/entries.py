"""Entries of a config: from what is written to named uses of implementations, and back."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exparity.config.instances import Instance
from exparity.config.presets import replaced_use
from exparity.core.errors import InputError
from exparity.core.options import Option, complete
from exparity.core.registry import Registry
from exparity.data import DATASETS
from exparity.debiasing import INTERVENTIONS
from exparity.methods import METHODS
from exparity.metrics import METRICS, metric_options, shared_sources
from exparity.models.catalogue import known_id

if TYPE_CHECKING:
    from exparity.config.experiment import Experiment


def instances_of(
    block: str, config: Mapping[str, Any], written: Mapping[str, Any]
) -> dict[str, Instance]:
    """Return the instances of a block.

    Args:
        block: ``datasets``, ``methods`` or ``metrics``.
        config: the config with its preset filled in.
        written: the config as its author wrote it.

    Raises:
        InputError: an unknown implementation or option, or a bad value.
    """
    registry: Any = {"datasets": DATASETS, "methods": METHODS, "metrics": METRICS}[block]
    found = {}
    for name, raw in config[block].items():
        settings = dict(raw or {})
        where = f"{block}.{name}"
        for key in ("max_examples", "shards"):
            if block == "datasets" and key in settings:
                raise InputError(f"{where}.{key}: set it on a method or metric instead")
        entry = registry.get(settings.pop("use", name), where)
        size = settings.pop("max_examples", None)
        shards = settings.pop("shards", 1)
        options = metric_options(entry) if block == "metrics" else entry.options
        _check(options, settings, where, replaced_use(written, block, name))
        shared = shared_sources(entry) if block == "metrics" else ()
        found[name] = Instance(name, entry, settings, size, options, shared, shards)
    return found


def named(registry: Registry[Any], written: str | Mapping[str, Any], where: str) -> Instance:
    """Return what an entry names: the id of an implementation, or ``use`` and its options.

    Args:
        registry: where implementations are known.
        written: the entry.
        where: how an error names the place.

    Raises:
        InputError: an unknown implementation or option, or a bad value.
    """
    settings = {"use": written} if isinstance(written, str) else dict(written)
    entry = registry.get(settings.pop("use"), where)
    complete(entry.options, settings, where)
    entry.input_files(settings, where)
    shared = sys.modules[registry.package].__file__ or ""
    return Instance(entry.id, entry, settings, None, entry.options, (Path(shared),))


def interventions_of(settings: Mapping[str, Any], where: str) -> list[Instance]:
    """Return the interventions in the training of a model, in order.

    Args:
        settings: the model's entry.
        where: how an error names the place.

    Raises:
        InputError: see :func:`named`.
    """
    written = settings.get("debias", [])
    each = written if isinstance(written, list) else [written]
    return [named(INTERVENTIONS, one, where) for one in each]


def _check(
    options: Mapping[str, Option], settings: Mapping[str, Any], where: str, replaced: str | None
) -> None:
    try:
        complete(options, settings, where)
    except InputError as error:
        if replaced is None:
            raise
        id = where.rpartition(".")[2]
        raise InputError(
            f"{error}; its 'study' makes it an instance of {replaced}, unless it says 'use: {id}'"
        ) from None


def written_out(experiment: Experiment) -> dict[str, Any]:
    """Return a config with nothing left to presets, the catalogue of models or defaults."""
    blocks: dict[str, dict[str, Any]] = {"datasets": {}, "methods": {}, "metrics": {}}
    for block, entries in blocks.items():
        for id, instance in getattr(experiment, block).items():
            entries[id] = {
                "use": instance.entry.id,
                **complete(instance.options, instance.params, f"{block}.{id}"),
            }
            if block != "datasets":
                entries[id] |= {"max_examples": instance.max_examples, "shards": instance.shards}
    models = {}
    for id, settings in experiment.models.items():
        known = known_id(id, experiment.config["models"][id] or {})
        models[id] = {**({"use": known} if known else {}), **settings}
        if experiment.interventions[id]:
            models[id]["debias"] = [_call(one) for one in experiment.interventions[id]]
    counterfactuals = {id: _call(one) for id, one in experiment.generators.items()}
    return {**experiment.config, **blocks, "models": models, "counterfactuals": counterfactuals}


def _call(instance: Instance) -> dict[str, Any]:
    params = complete(instance.options, instance.params, instance.id)
    return {"use": instance.entry.id, **params}
