"""Provenance of the artefacts of a grid, read from their metadata."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from exparity.artefacts import layout
from exparity.artefacts.seal import read_metadata
from exparity.report.gather import Ids

Parameters = Mapping[str, Any]
_ARTEFACTS = ("data", "history", "predictions", "explanations", "scores", "tests")


@dataclass(frozen=True)
class ArtefactOrigin:
    """Metadata of one artefact."""

    artefact: str
    ids: Mapping[str, Any]
    facts: Mapping[str, Any]


def read_origins(
    results: Path,
    options: Mapping[str, Any],
    known: Mapping[Ids, Mapping[bytes, bytes]] | None = None,
) -> list[ArtefactOrigin]:
    """Return the provenance of every artefact of a grid that is there."""
    origins = []
    for artefact in (*_ARTEFACTS, *layout.made_by_analyses().values()):
        is_known = known is not None and artefact == "scores"
        found = (known or {}).items() if is_known else _read(results, options, artefact)
        for ids, metadata in found:
            named = dict(zip(layout.levels(artefact), ids, strict=True))
            origins.append(ArtefactOrigin(artefact, named, _facts(metadata)))
    return origins


def _read(
    results: Path, options: Mapping[str, Any], artefact: str
) -> Iterator[tuple[Ids, Mapping[bytes, bytes]]]:
    for ids in layout.cells(options, artefact):
        path = results / layout.path_of(artefact, ids)
        if path.is_file():
            yield tuple(ids.values()), read_metadata(path).metadata or {}


@cache
def _parsed(text: bytes) -> Any:
    """Parse a fact; most are the same in thousands of files."""
    return json.loads(text)


def _facts(metadata: Mapping[bytes, bytes]) -> dict[str, Any]:
    prefix = b"exparity."
    return {
        key.removeprefix(prefix).decode(): _parsed(value)
        for key, value in metadata.items()
        if key.startswith(prefix)
    }


def versions(origins: Sequence[ArtefactOrigin]) -> dict[str, list[tuple[str, int]]]:
    """Return the versions that artefacts were made with, and how many with each."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for origin in origins:
        counts["exparity"][str(origin.facts.get("version", "unknown"))] += 1
        counts["commit"][str(origin.facts.get("commit", "unknown"))] += 1
        for package, version in (origin.facts.get("packages") or {}).items():
            counts[package][str(version)] += 1
    return {name: by_version.most_common() for name, by_version in counts.items()}


def settings_of(origins: Sequence[ArtefactOrigin], kind: str) -> dict[str, dict[str, str]]:
    """Return what each instance of a kind was run with, by key; bars part several values."""
    artefacts, options = SETTLED[kind]
    values: dict[str, dict[str, dict[str, None]]] = defaultdict(dict)
    for origin in origins:
        if origin.artefact in artefacts and origin.facts.get("parameters"):
            of_instance = values[origin.ids[kind]]
            for key, value in options(origin.facts["parameters"]).items():
                of_instance.setdefault(key, {})[_text(value)] = None
    return {id: {key: " | ".join(of) for key, of in own.items()} for id, own in values.items()}


def _of_instance(parameters: Parameters) -> Parameters:
    flat = {**(parameters.get("params") or {}), "max_examples": parameters.get("max_examples")}
    return {key: value for key, value in sorted(flat.items()) if value is not None}


def _of_model(parameters: Parameters) -> Parameters:
    flat = {**(parameters.get("model") or {}), **(parameters.get("training") or {})}
    flat |= flat.pop("size", None) or {}
    return {key: value for key, value in flat.items() if value not in (None, "", {}, [])}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value)


SETTLED: Mapping[str, tuple[tuple[str, ...], Callable[[Parameters], Parameters]]] = {
    "model": (("history", "predictions"), _of_model),
    "method": (("explanations",), _of_instance),
    "metric": (("scores",), _of_instance),
}
"""By kind: the artefacts that know what its instances were run with, and what of it to say."""
