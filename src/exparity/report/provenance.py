"""Where the artefacts of a grid come from: read from their metadata."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from exparity.artefacts.layout import made_by_analyses
from exparity.artefacts.seal import read_metadata
from exparity.core.errors import InputError
from exparity.report.cells import Ids, artefact_paths
from exparity.report.gather import Study

_ARTEFACTS = ("data", "history", "predictions", "explanations", "scores", "tests")


@dataclass(frozen=True)
class Origin:
    """What one artefact says about itself.

    Attributes:
        artefact: which artefact it is.
        ids: its cell.
        stage: stage that made it.
        facts: its metadata.
    """

    artefact: str
    ids: Ids
    stage: str
    facts: Mapping[str, Any]

    @property
    def device(self) -> str:
        """Where the model ran."""
        return str(self.facts.get("device") or "unknown")


def read_origins(
    results: Path, study: Study, known: Mapping[Ids, Mapping[bytes, bytes]]
) -> list[Origin]:
    """Return the provenance of every artefact of a grid that is there.

    Args:
        results: folder of all results.
        study: the grid.
        known: raw metadata of scores that have been read already, by cell.
    """
    return [
        _origin(artefact, ids, metadata)
        for artefact in (*_ARTEFACTS, *made_by_analyses().values())
        for ids, metadata in _metadata(results, study, artefact, known)
    ]


def _metadata(
    results: Path, study: Study, artefact: str, known: Mapping[Ids, Mapping[bytes, bytes]]
) -> Iterator[tuple[Ids, Mapping[bytes, bytes]]]:
    if artefact == "scores":
        yield from known.items()
        return
    for ids, path in artefact_paths(results, study, artefact):
        try:
            yield ids, read_metadata(path).metadata or {}
        except InputError:
            continue  # what the report needs of it has been checked elsewhere


@cache
def _parsed(text: bytes) -> Any:
    """Parse a fact; most are the same in thousands of files."""
    return json.loads(text)


def _origin(artefact: str, ids: Ids, metadata: Mapping[bytes, bytes]) -> Origin:
    prefix = b"exparity."
    facts = {
        key.removeprefix(prefix).decode(): _parsed(value)
        for key, value in metadata.items()
        if key.startswith(prefix)
    }
    return Origin(artefact, ids, str(facts.get("stage", "")), facts)


def versions(origins: Sequence[Origin]) -> dict[str, list[tuple[str, int]]]:
    """Return the versions that artefacts were made with, and how many with each.

    Returns:
        By name (``exparity``, ``commit``, then packages), most frequent first.
    """
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for origin in origins:
        counts["exparity"][str(origin.facts.get("version", "unknown"))] += 1
        counts["commit"][str(origin.facts.get("commit", "unknown"))] += 1
        for package, version in (origin.facts.get("packages") or {}).items():
            counts[package][str(version)] += 1
    return {name: found.most_common() for name, found in counts.items()}
