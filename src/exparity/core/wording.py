"""JSON schemas in words: what a value may be, and why one is refused."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

_TYPES = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "object": "a mapping",
    "string": "text",
}
_ENDS = {
    "minimum": "at least",
    "exclusiveMinimum": "above",
    "maximum": "at most",
    "exclusiveMaximum": "below",
}
_ANYTHING = "anything"
_SHOWN = 80


def allowed(schema: Mapping[str, Any]) -> str:
    """Return what a schema allows, such as ``a whole number from 1 to 9, or null``."""
    words = f"{_kind(schema)} {_range(schema)}".strip()
    return f"{words}, or null" if _takes_null(schema) else words


def reason(error: Any) -> str:
    """Return what a violation of a JSON schema is: what the value may be, and what it is."""
    parent = error.parent
    if error.validator in ("type", "enum") and parent and parent.instance is error.instance:
        error = parent  # of several alternatives, name them all
    schema, value = error.schema, error.instance
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value} is not a finite number"
    if error.validator in ("type", "enum", "anyOf"):
        return f"{_kind(schema)}, found {_short(value)}"
    if error.validator in _ENDS:
        return f"{_short(value)} is out of range ({_each_end(schema)})"
    if error.validator in ("pattern", "maxLength") and "$comment" in schema:
        return f"{_short(value)} is refused: {schema['$comment']}"
    if error.validator == "required":
        missing = next(key for key in schema["required"] if key not in value)
        return f"'{missing}' is missing"
    if error.validator in ("minItems", "minProperties", "minLength") and not value:
        return f"{_short(value)} is empty; name at least one"
    if error.validator == "not" and "description" in schema:
        return str(schema["description"]).rstrip(".")
    if error.validator == "uniqueItems":
        return f"{_short(value)} names one twice"
    return str(error.message).replace(repr(value), _short(value))


def _kind(schema: Mapping[str, Any]) -> str:
    """Return the types or the values that a schema allows, null apart."""
    if "enum" in schema:
        values = [value for value in schema["enum"] if value is not None]
        return f"{'one of ' * (len(values) > 1)}{', '.join(map(_literal, values))}"
    if "anyOf" in schema:
        return " or ".join(_kind(part) for part in schema["anyOf"] if part.get("type") != "null")
    if "type" not in schema:
        return _ANYTHING
    names = [name for name in _types(schema) if name != "null"]
    if len(names) == len(_TYPES):
        return _ANYTHING
    words = [_TYPES[name] for name in names]
    if schema.get("maxItems") == 0:
        return "an empty list"
    if names == ["array"] and (items := _kind(schema.get("items", {}))) != _ANYTHING:
        return f"a list, each {items} {_range(schema['items'])}".strip()
    return ", ".join(words[:-1]) + " or " * (len(words) > 1) + words[-1]


def _types(schema: Mapping[str, Any]) -> Sequence[str]:
    kinds = schema.get("type", ())
    return (kinds,) if isinstance(kinds, str) else kinds


def _takes_null(schema: Mapping[str, Any]) -> bool:
    if "enum" in schema:
        return None in schema["enum"]
    if "anyOf" in schema:
        return any(map(_takes_null, schema["anyOf"]))
    return "null" in _types(schema) and len(_types(schema)) <= len(_TYPES)


def _range(schema: Mapping[str, Any]) -> str:
    if not {"integer", "number"} & set(_types(schema)):
        return ""
    if "minimum" in schema and "maximum" in schema:
        return f"from {schema['minimum']:,} to {schema['maximum']:,}"
    return _each_end(schema)


def _each_end(schema: Mapping[str, Any]) -> str:
    return " and ".join(f"{word} {schema[end]}" for end, word in _ENDS.items() if end in schema)


def _literal(value: Any) -> str:
    """Return a value as YAML has it."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _short(value: Any) -> str:
    text = _literal(value) if isinstance(value, bool) or value is None else repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
