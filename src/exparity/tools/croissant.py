"""Datasets of a results folder in Croissant, the format of catalogues of data for machine learning.

See https://docs.mlcommons.org/croissant/docs/croissant-spec.html, version 1.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from exparity.artefacts import layout
from exparity.artefacts.files import read_artefact
from exparity.artefacts.lineage import sha256_of
from exparity.core.registry import Entry
from exparity.data import DATASETS
from exparity.interface import DatasetFacts

_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "recordSet": "cr:recordSet",
    "repeated": "cr:repeated",
    "sc": "https://schema.org/",
    "source": "cr:source",
}


def croissants(results: Path) -> dict[Path, dict[str, Any]]:
    """Return the description of each dataset, by the path of the file that it belongs in.

    Raises:
        InputError: a file is damaged.
    """
    files = layout.files(results, "data")
    return {path.with_suffix(".croissant.json"): _croissant(ids[0], path) for ids, path in files}


def licence_of(facts: Mapping[str, Any]) -> str:
    """Return the terms of a dataset by the metadata of its artefact."""
    entry = _registered(facts)
    return entry.facts.licence if entry else "not stated"


def _registered(facts: Mapping[str, Any]) -> Entry[DatasetFacts] | None:
    """Return the dataset of an artefact; None for one of a plug-in that is not loaded."""
    use = facts.get("parameters", {}).get("use")
    return DATASETS.get(use) if use in DATASETS.ids() else None


def _croissant(dataset: str, path: Path) -> dict[str, Any]:
    table, facts = read_artefact(path, "data")
    entry, groups = _registered(facts), ", ".join(facts["groups"])
    of_groups = f", of groups {facts['attribute']}: {groups}" if groups else ""
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": dataset,
        "description": f"{entry.summary if entry else dataset}. {table.num_rows} texts of the "
        f"classes {', '.join(facts['labels'])}{of_groups}.",
        "license": licence_of(facts),
        **({"citeAs": entry.facts.reference} if entry else {}),
        "datePublished": datetime.fromtimestamp(facts["started"], UTC).date().isoformat(),
        "version": facts["version"],
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": path.name,
                "name": path.name,
                "contentUrl": path.name,
                "encodingFormat": "application/x-parquet",
                "sha256": sha256_of(path),
            }
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": "texts",
                "name": "texts",
                "field": [_field(field, path.name) for field in table.schema if _is_plain(field)],
            }
        ],
    }


def _is_plain(field: pa.Field) -> bool:
    """Whether Croissant has a type for a column; it has none for lists of pairs."""
    return not pa.types.is_struct(getattr(field.type, "value_type", field.type))


def _field(field: pa.Field, file: str) -> dict[str, Any]:
    is_list = pa.types.is_list(field.type)
    kind = field.type.value_type if is_list else field.type
    return {
        "@type": "cr:Field",
        "@id": f"texts/{field.name}",
        "name": field.name,
        "dataType": "sc:Integer" if pa.types.is_integer(kind) else "sc:Text",
        **({"repeated": True} if is_list else {}),
        "source": {"fileObject": {"@id": file}, "extract": {"column": field.name}},
    }
