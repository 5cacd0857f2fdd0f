"""Provenance of the artefacts of a grid, read from their metadata."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from exparity.artefacts import layout
from exparity.artefacts.analyses import ANALYSES
from exparity.artefacts.files import facts_of
from exparity.artefacts.grid import Grid
from exparity.artefacts.seal import read_metadata
from exparity.core.plain import as_float, as_int, as_mapping
from exparity.data import dropped_rows

Parameters = Mapping[str, object]
_ARTEFACTS = ("data", "history", "predictions", "explanations", "scores", "tests")


@dataclass(frozen=True)
class ArtefactOrigin:
    """Metadata of one artefact."""

    artefact: str
    ids: Mapping[str, object]
    facts: Mapping[str, object]

    @property
    def dataset(self) -> str:
        """Id of its dataset; empty where it is of several."""
        return str(self.ids.get("dataset", ""))

    @property
    def model(self) -> str:
        """Id of its model; empty where it is of several."""
        return str(self.ids.get("model", ""))

    @property
    def seed(self) -> int:
        """Seed of its training; 0 where it is of several."""
        return as_int(self.ids.get("seed", 0))

    @property
    def parameters(self) -> Parameters:
        """The options that it was made with."""
        return as_mapping(self.facts.get("parameters") or {})

    @property
    def options(self) -> Parameters:
        """The options of the method or metric that made it."""
        return as_mapping(self.parameters.get("params") or {})

    @property
    def n_rows(self) -> int:
        """How many rows it has."""
        return as_int(self.facts.get("rows", 0))

    @property
    def n_cut_texts(self) -> int:
        """How many texts were longer than the model can read."""
        return as_int(self.facts.get("n_truncated", 0))

    @property
    def pieces_by_group(self) -> Mapping[str, float]:
        """Mean number of tokens of a word, by group; empty where it is not counted."""
        by_group = as_mapping(self.facts.get("pieces_by_group") or {})
        return {group: as_float(pieces) for group, pieces in by_group.items()}

    @property
    def notes(self) -> Mapping[str, object]:
        """What the code that made it notes of itself."""
        return as_mapping(self.facts.get("notes") or {})


def read_origins(results: Path, grid: Grid) -> list[ArtefactOrigin]:
    """Return the provenance of every existing artefact of a grid."""
    analysed = [ANALYSES.get(name).facts.artefact for name in ANALYSES.ids()]
    return [
        ArtefactOrigin(artefact, ids, facts_of(read_metadata(path).metadata))
        for artefact in (*_ARTEFACTS, *analysed)
        for ids in layout.cells(grid, artefact)
        if (path := results / layout.path_of(artefact, ids)).is_file()
    ]


def dropped_rows_of(origins: Sequence[ArtefactOrigin]) -> list[tuple[str, str]]:
    """Return how many rows of a table count nowhere, and why, by dataset where there are any."""
    return [
        (origin.dataset, dropped_rows(_counts(origin.facts["dropped"])))
        for origin in origins
        if origin.artefact == "data" and "dropped" in origin.facts
    ]


def _counts(numbers: object) -> dict[str, int]:
    return {name: as_int(number) for name, number in as_mapping(numbers).items()}


def versions(origins: Sequence[ArtefactOrigin]) -> dict[str, list[tuple[str, int]]]:
    """Return the versions of each package and the number of artefacts with each version."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for origin in origins:
        facts = origin.facts
        exparity_source = {"exparity": facts.get("version"), "commit": facts.get("commit")}
        for package, version in {
            **exparity_source,
            **as_mapping(facts.get("packages") or {}),
        }.items():
            counts[package]["unknown" if version is None else str(version)] += 1
    return {name: by_version.most_common() for name, by_version in counts.items()}


def settings_of(origins: Sequence[ArtefactOrigin], kind: str) -> dict[str, dict[str, str]]:
    """Return the settings of each instance of a kind by key; several values are joined by bars."""
    artefacts, options = SETTLED[kind]
    values: dict[str, dict[str, dict[str, None]]] = defaultdict(dict)
    for origin in origins:
        if origin.artefact in artefacts and origin.parameters:
            by_key = values[str(origin.ids[kind])]
            for key, value in options(origin.parameters).items():
                by_key.setdefault(key, {})[_text(value)] = None
    return {
        instance: {key: " | ".join(texts) for key, texts in by_key.items()}
        for instance, by_key in values.items()
    }


def _instance_options(parameters: Parameters) -> Parameters:
    params = as_mapping(parameters.get("params") or {})
    flat = {**params, "max_examples": parameters.get("max_examples")}
    return {key: value for key, value in sorted(flat.items()) if value is not None}


def _model_options(parameters: Parameters) -> Parameters:
    model = as_mapping(parameters.get("model") or {})
    flat = {**model, **as_mapping(parameters.get("training") or {})}
    flat |= as_mapping(flat.pop("size", None) or {})
    return {key: value for key, value in flat.items() if value not in (None, "", {}, [])}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value)


SETTLED: Mapping[str, tuple[tuple[str, ...], Callable[[Parameters], Parameters]]] = {
    "model": (("history", "predictions"), _model_options),
    "method": (("explanations",), _instance_options),
    "metric": (("scores",), _instance_options),
}
"""By kind: the artefacts that know what its instances were run with, and what of it to say."""
