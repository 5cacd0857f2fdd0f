"""Entries of a config: from what is written to named uses of implementations."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exparity.artefacts.lineage import sha256_of
from exparity.config.models import Config
from exparity.config.presets import preset
from exparity.core.digest import source_digest
from exparity.core.errors import InputError
from exparity.core.registry import Entry, Registry
from exparity.core.validation import Settings, complete
from exparity.data import DATASETS
from exparity.methods import METHODS
from exparity.metrics import METRICS, SHARED_SOURCES

_RESERVED = ("use", "max_examples", "datasets")


@dataclass(frozen=True)
class Instance:
    """A named use of a registered implementation.

    Attributes:
        id: name in the config.
        entry: the implementation.
        params: its options as set, without defaults.
        max_examples: sample size, or None.
        options: all options it knows.
        shared: source files that all implementations of its kind run through.
        datasets: those that it is used on; all if None.
    """

    id: str
    entry: Entry[Any]
    params: Mapping[str, Any]
    max_examples: int | None
    options: type[Settings]
    shared: tuple[Path, ...] = ()
    datasets: Sequence[str] | None = None

    def resolved(self, where: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a job of this instance depends on, with overrides applied."""
        merged = {**self.params, **{k: v for k, v in changes.items() if k not in _RESERVED}}
        return {
            "use": self.entry.id,
            "params": complete(self.options, merged, where),
            "max_examples": changes.get("max_examples", self.max_examples),
            "digest": source_digest(self.entry.source, *self.shared),
        }

    def paths_in(self, cell: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, str]:
        """Return its options that name files, as a cell has them."""
        named = {}
        for option in getattr(self.entry.facts, "path_options", ()):
            pattern = changes.get(option, self.params.get(option, ""))
            try:
                named[option] = str(pattern).format(**cell)
            except (LookupError, ValueError, AttributeError):
                raise InputError(
                    f"{self.id}.{option}: {pattern}: of names in braces a file may have "
                    f"{', '.join(f'{{{name}}}' for name in cell)}"
                ) from None
        return named

    def call(self, where: str) -> dict[str, Any]:
        """Return what a job that calls it depends on: options and code."""
        call = self.resolved(where, {})
        del call["max_examples"]
        return call

    def call_with_files(self, where: str) -> dict[str, Any]:
        """Return what a job that calls it depends on, the content of its own files as well."""
        files = {str(path): sha256_of(path) for path in self.entry.input_files(self.params, where)}
        return {**self.call(where), **({"files": files} if files else {})}


def instances_of(block: str, config: Config) -> dict[str, Instance]:
    """Return the instances of a block."""
    registry: Any = {"datasets": DATASETS, "methods": METHODS, "metrics": METRICS}[block]
    instances = {}
    for id, raw in getattr(config, block).items():
        settings = raw.written if raw else {}
        where = f"{block}.{id}"
        for key in ("max_examples", "datasets"):
            if block == "datasets" and key in settings:
                raise InputError(f"{where}.{key}: set it on a method or metric instead")
        entry = registry.get(settings.pop("use", id), where)
        size = settings.pop("max_examples", None)
        datasets = settings.pop("datasets", None)
        options = registry.options(entry)
        if "explains" in options.model_fields:
            settings.setdefault("explains", config.explains)
        try:
            complete(options, settings, where)
        except InputError as error:
            if preset(config.study).get(block, {}).get(id, {}).get("use") != entry.id:
                raise
            raise InputError(
                f"{error}; its 'study' makes it an instance of {entry.id}, unless it says "
                f"'use: {id}'"
            ) from None
        shared = SHARED_SOURCES if block == "metrics" else ()
        instances[id] = Instance(id, entry, settings, size, options, shared, datasets)
    return instances


def named_instance(
    registry: Registry[Any], written: str | Mapping[str, Any], where: str
) -> Instance:
    """Return what an entry names: the id of an implementation, or ``use`` and its options."""
    settings = {"use": written} if isinstance(written, str) else dict(written)
    entry = registry.get(settings.pop("use"), where)
    complete(entry.options, settings, where)
    entry.input_files(settings, where)
    shared = sys.modules[registry.package].__file__ or ""
    return Instance(entry.id, entry, settings, None, entry.options, (Path(shared),))
