"""Provenance of the artefacts of a grid, read from their metadata."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exparity.artefacts import layout
from exparity.artefacts.analyses import ANALYSES
from exparity.artefacts.files import facts_of
from exparity.artefacts.grid import Grid
from exparity.artefacts.seal import read_metadata
from exparity.data import dropped_rows

Parameters = Mapping[str, Any]
_ARTEFACTS = ("data", "history", "predictions", "explanations", "scores", "tests")


@dataclass(frozen=True)
class ArtefactOrigin:
    """Metadata of one artefact."""

    artefact: str
    ids: Mapping[str, Any]
    facts: Mapping[str, Any]


def read_origins(results: Path, grid: Grid) -> list[ArtefactOrigin]:
    """Return the provenance of every existing artefact of a grid."""
    of_analyses = [ANALYSES.get(id).facts.artefact for id in ANALYSES.ids()]
    return [
        ArtefactOrigin(artefact, ids, facts_of(read_metadata(path).metadata))
        for artefact in (*_ARTEFACTS, *of_analyses)
        for ids in layout.cells(grid, artefact)
        if (path := results / layout.path_of(artefact, ids)).is_file()
    ]


def dropped_rows_of(origins: Sequence[ArtefactOrigin]) -> list[tuple[str, str]]:
    """Return how many rows of a table count nowhere, and why, by dataset where there are any."""
    return [
        (origin.ids["dataset"], dropped_rows(origin.facts["dropped"]))
        for origin in origins
        if origin.artefact == "data" and "dropped" in origin.facts
    ]


def versions(origins: Sequence[ArtefactOrigin]) -> dict[str, list[tuple[str, int]]]:
    """Return the versions of each package and the number of artefacts with each version."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for origin in origins:
        counts["exparity"][str(origin.facts.get("version", "unknown"))] += 1
        counts["commit"][str(origin.facts.get("commit", "unknown"))] += 1
        for package, version in (origin.facts.get("packages") or {}).items():
            counts[package][str(version)] += 1
    return {name: by_version.most_common() for name, by_version in counts.items()}


def settings_of(origins: Sequence[ArtefactOrigin], kind: str) -> dict[str, dict[str, str]]:
    """Return the settings of each instance of a kind by key; several values are joined by bars."""
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
