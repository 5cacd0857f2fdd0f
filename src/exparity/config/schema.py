"""Checks of a config against its description, and the defaults that it gives."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from exparity.config.models import MAX_ID, Config
from exparity.core.errors import InputError, did_you_mean
from exparity.core.schema import json_schema, violation
from exparity.core.wording import reason
from exparity.data import DATASETS
from exparity.methods import METHODS
from exparity.metrics import METRICS
from exparity.models.catalogue import known_models

_KNOWN: Mapping[str, Callable[[], Iterable[str]]] = {
    "datasets": DATASETS.ids,
    "methods": METHODS.ids,
    "metrics": METRICS.ids,
    "models": known_models,
}
"""What the entries of a block may be, where an id is no id."""


def config_schema() -> dict[str, Any]:
    """Return the JSON schema of the config."""
    return json_schema(Config)


def validate(config: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """Check a config against a schema."""
    error = violation(schema, config)
    if error is None:
        return
    place = ""
    for step in error.path:
        place += f"[{step}]" if isinstance(step, int) else f".{step}" if place else str(step)
    if error.rule == "additionalProperties":
        known = error.schema["properties"]
        key = next(key for key in error.value if key not in known)
        full = f"{place}.{key}" if place else key
        raise InputError(f"config: unknown key '{full}'; {did_you_mean(key, known)}")
    message = _no_id(place, error.value) if error.rule == "propertyNames" else reason(error)
    raise InputError(f"config: {place}: {message}" if place else f"config: {message}")


def _no_id(block: str, written: str) -> str:
    """Return why a key is no id, and the registered id that is meant."""
    meant = re.sub(r"[^a-z0-9]+", "_", written.lower()).strip("_")
    hint = did_you_mean(meant, _KNOWN[block]() if block in _KNOWN else ())
    shown = written if len(written) <= MAX_ID else f"{written[:MAX_ID]}..."
    return (
        f"'{shown}' is not an id: use lower-case letters, digits and underscores, at most {MAX_ID}"
        + (f"; {hint}" if hint.startswith("did you mean") else "")
    )


def with_defaults(values: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Fill in the schema's defaults, at the top and inside blocks that have a default themselves.

    Blocks of single models and overrides stay as written: they refine what the top level says.
    """
    filled = dict(values)
    for key, part in schema["properties"].items():
        if "default" in part:
            value = filled.setdefault(key, part["default"])
            if isinstance(value, dict) and "properties" in part:
                filled[key] = with_defaults(value, part)
    return filled
