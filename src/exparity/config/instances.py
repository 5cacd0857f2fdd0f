"""Named uses of registered implementations, and the canonical text of what a job depends on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exparity.core.digest import source_digest
from exparity.core.options import Option, complete
from exparity.core.registry import Entry
from exparity.data.files import sha256_of

_RESERVED = ("use", "max_examples", "shards")


def canonical(values: Mapping[str, Any]) -> str:
    """Return the one JSON text of a mapping: what Snakemake compares to decide on reruns."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


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
        shards: jobs that share one cell's work; what comes out does not depend on it.
    """

    id: str
    entry: Entry[Any]
    params: Mapping[str, Any]
    max_examples: int | None
    options: Mapping[str, Option]
    shared: tuple[Path, ...] = ()
    shards: int = 1

    def resolved(self, where: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a job of this instance depends on, with overrides applied.

        Raises:
            InputError: an override sets an unknown option or a bad value.
        """
        merged = {**self.params, **{k: v for k, v in changes.items() if k not in _RESERVED}}
        return {
            "use": self.entry.id,
            "params": complete(self.options, merged, where),
            "max_examples": changes.get("max_examples", self.max_examples),
            "digest": source_digest(self.entry.source, *self.shared),
        }

    def call(self, where: str) -> dict[str, Any]:
        """Return what a job that calls it depends on: options, code and the files that it reads."""
        call = self.resolved(where, {})
        del call["max_examples"]
        files = {str(path): sha256_of(path) for path in self.entry.input_files(self.params, where)}
        return {**call, **({"files": files} if files else {})}
