"""JSON schemas in words: what a value may be, and why one is refused."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from exparity.core.schema import Violation, violation

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
MAX_INTEGER = (1 << 63) - 1
"""The end of a range that is that of the machine, and so not told."""
_ANYTHING = "anything"
_SHOWN = 80
_POWER = re.compile(r"([-+]?\d+)(\.\d*)?[eE]([-+]?)(\d+)")  # text in YAML 1.1 without point or sign
_PLAIN_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")


def allowed(schema: Mapping[str, Any]) -> str:
    """Return what a schema allows, such as ``a whole number from 1 to 9, or null``."""
    words = f"{_kind(schema)} {_range(schema)}".strip()
    return f"{words}, or null" if _takes_null(schema) else words


def reason(error: Violation) -> str:
    """Return why a value is refused: what it may be, what it is, and how to write it."""
    schema, value = error.schema, error.value
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value} is not a finite number"
    if error.rule in ("type", "enum", "anyOf"):
        return f"{_kind(schema)}, found {_short(value)}{_rewritten(schema, value)}"
    if error.rule in _ENDS:
        return f"{_short(value)} is out of range ({_each_end(schema)})"
    if error.rule == "required":
        missing = next(key for key in schema["required"] if key not in value)
        return f"'{missing}' is missing"
    if error.rule in ("minItems", "minProperties") and not value:
        return f"{_short(value)} is empty; name at least one"
    if error.rule == "uniqueItems":
        return f"{_short(value)} names one twice"
    if error.rule == "not":
        return str(schema.get("description", f"{_short(value)} is not for here")).rstrip(".")
    return f"{_short(value)} is refused: {schema.get('$comment', f'{error.rule} is broken')}"


def _rewritten(schema: Mapping[str, Any], value: Any) -> str:
    """Return how to write a value that was meant well; empty if that is not known."""
    parts = schema.get("anyOf", [schema])
    kinds = {kind for part in parts for kind in _types(part)}
    if isinstance(value, str) and {"integer", "number"} & kinds:
        if power := _POWER.fullmatch(value):
            whole, decimals, sign, digits = power.groups()
            return f"; write {whole}{decimals or '.0'}e{sign or '+'}{digits}"
        return f"; write {value} without quotes" if _PLAIN_NUMBER.fullmatch(value) else ""
    if "object" in kinds and "array" not in kinds and isinstance(value, str | list) and value:
        names = [value] if isinstance(value, str) else value
        if schema.get("propertyNames") and all(isinstance(name, str) for name in names):
            return f"; write {{{', '.join(f'{name}: {{}}' for name in names)}}}"
    for part in parts:
        if part.get("type") == "array" and violation(part, [value]) is None:
            return f"; write [{_literal(value)}]"
    return ""


def _kind(schema: Mapping[str, Any]) -> str:
    """Return the types or the values that a schema allows, null apart."""
    if "enum" in schema:
        values = [value for value in schema["enum"] if value is not None]
        return f"{'one of ' * (len(values) > 1)}{', '.join(map(_literal, values))}"
    if "anyOf" in schema:
        return _listed([_kind(part) for part in schema["anyOf"] if part.get("type") != "null"])
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
    return _listed(words)


def _listed(words: Sequence[str]) -> str:
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
    if schema.get("maximum") == MAX_INTEGER:
        return f"at least {schema['minimum']}"
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
