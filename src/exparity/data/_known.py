"""Facts and raw files of datasets that come with exparity, in ``resources/datasets.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache

from exparity.core.plain import as_mapping, as_text, as_texts
from exparity.core.strict import read_yaml
from exparity.data.facts import RemoteFile
from exparity.resources import shipped

_FIELDS = [field.name for field in fields(RemoteFile)]


@cache
def _table() -> Mapping[str, Mapping[str, object]]:
    table: Mapping[str, Mapping[str, object]] = read_yaml(shipped("datasets.yaml"))
    return table


def known_facts(name: str) -> dict[str, object]:
    """Return the facts of a dataset that comes with exparity, to register it with."""
    facts = {**_table()[name], "files": list(known_files(name).values())}
    return {fact: _as_tuples(value) for fact, value in facts.items()}


def known_labels(name: str) -> tuple[str, ...]:
    """Return the classes of a dataset that comes with exparity; none where its data have them."""
    return tuple(as_texts(_table()[name].get("labels", ())))


def _as_tuples(value: object) -> object:
    """Return a value in which all lists are tuples."""
    if isinstance(value, Mapping):
        return {key: _as_tuples(inner) for key, inner in value.items()}
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


def known_files(name: str) -> dict[str, RemoteFile]:
    """Return the raw files of a published dataset by the part that each holds."""
    common = as_mapping(_table()[name].get("files", {}))
    files = {}
    for part, changes in as_mapping(common.get("parts", {})).items():
        values = {**common, "part": part, **as_mapping(changes)}
        present_fields = {
            field: values[field] for field in _FIELDS if values.get(field) is not None
        }
        texts = {field: as_text(text).format_map(values) for field, text in present_fields.items()}
        files[part] = RemoteFile(**texts)
    return files
