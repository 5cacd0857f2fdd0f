"""The JSON schema of the config: reading it, checking against it, filling in its defaults."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from exparity.core.errors import InputError, did_you_mean

MAX_ID = 64
"""Longest id in the config, of which names of files are made."""


def read_schema(path: Path) -> dict[str, Any]:
    """Read a JSON schema written in YAML."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    with path.open(encoding="utf-8") as file:
        schema: dict[str, Any] = yaml.load(file, Loader=loader)
    return schema


def validate(config: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """Check a config against a schema.

    Raises:
        InputError: the most telling violation, as one line that names the key.
    """
    from exparity.core.options import violation
    from exparity.core.wording import reason

    error = violation(schema, config)
    if error is None:
        return
    place = ""
    for step in error.absolute_path:
        place += f"[{step}]" if isinstance(step, int) else f".{step}" if place else str(step)
    if error.validator == "additionalProperties" and isinstance(error.instance, Mapping):
        known = error.schema.get("properties", {})
        for key in error.instance:
            if key not in known:
                full = f"{place}.{key}" if place else key
                raise InputError(f"config: unknown key '{full}'; {did_you_mean(key, known)}")
    if "propertyNames" in error.absolute_schema_path:
        id = error.instance if len(error.instance) <= MAX_ID else f"{error.instance[:MAX_ID]}..."
        message = (
            f"'{id}' is not an id: use lower-case letters, digits and underscores, at most {MAX_ID}"
        )
    else:
        message = reason(error)
    raise InputError(f"config: {place}: {message}" if place else f"config: {message}")


def with_defaults(config: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Fill in the schema's defaults, at the top and inside blocks that have a default themselves.

    Blocks of single models and overrides stay as written: they refine what the top level says.
    """
    return _filled(config, schema, schema.get("$defs", {}))


def _filled(
    values: Mapping[str, Any], schema: Mapping[str, Any], defs: Mapping[str, Any]
) -> dict[str, Any]:
    filled = dict(values)
    for key, part in schema["properties"].items():
        if "default" not in part:
            continue
        target = defs[part["$ref"].rpartition("/")[2]] if "$ref" in part else part
        value = filled.setdefault(key, part["default"])
        if isinstance(value, dict) and "properties" in target:
            filled[key] = _filled(value, target, defs)
    return filled
