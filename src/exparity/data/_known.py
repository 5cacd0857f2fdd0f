"""Facts and raw files of datasets that come with exparity, in ``resources/datasets.yaml``."""

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


def known_facts(id: str) -> dict[str, Any]:
    """Return the facts of a dataset that comes with exparity, to register it with."""
    facts = {**_table()[id], "files": list(known_files(id).values())}
    return {name: _as_tuples(value) for name, value in facts.items()}


def _as_tuples(value: Any) -> Any:
    """Return a value in which all lists are tuples."""
    if isinstance(value, Mapping):
        return {key: _as_tuples(inner) for key, inner in value.items()}
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


def known_files(id: str) -> dict[str, RemoteFile]:
    """Return the raw files of a published dataset by the part that each holds."""
    common = _table()[id].get("files", {})
    files = {}
    for part, changes in common.get("parts", {}).items():
        values = {**common, "part": part, **changes}
        known = {name: values[name] for name in _FIELDS if values.get(name) is not None}
        files[part] = RemoteFile(**{name: text.format_map(values) for name, text in known.items()})
    return files
