"""Facts and raw files of published datasets, by ``resources/datasets.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any

from exparity.core.strict import read_yaml
from exparity.data.facts import RemoteFile
from exparity.resources import shipped

_FIELDS = [field.name for field in fields(RemoteFile)]


@cache
def _table() -> Mapping[str, Mapping[str, Any]]:
    table: Mapping[str, Mapping[str, Any]] = read_yaml(shipped("datasets.yaml"))
    return table


def published_facts(id: str) -> dict[str, Any]:
    """Return the facts of a published dataset, to register it with."""
    values = {key: tuple(v) if isinstance(v, list) else v for key, v in _table()[id].items()}
    return {**values, "files": tuple(published_files(id).values())}


def published_files(id: str) -> dict[str, RemoteFile]:
    """Return the raw files of a published dataset by the part that each holds."""
    common, files = _table()[id]["files"], {}
    for part, of_part in common["parts"].items():
        values = {**common, "part": part, **of_part}
        known = {name: values[name] for name in _FIELDS if values.get(name) is not None}
        files[part] = RemoteFile(**{name: text.format_map(values) for name, text in known.items()})
    return files
