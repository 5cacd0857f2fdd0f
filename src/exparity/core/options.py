"""Options of methods, metrics and datasets, read from the signatures that use them.

The keyword-only arguments of a registered function are its options: name, default and allowed
values come from the signature and its annotations, so there is no second list to keep.
"""

from __future__ import annotations

import inspect
import json
import math
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Annotated, Any, Literal

from exparity.core.calls import shown
from exparity.core.errors import InputError, did_you_mean
from exparity.core.flags import Range
from exparity.core.wording import reason

_TYPES: dict[Any, Any] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    type(None): "null",
    Any: ["array", "boolean", "null", "number", "object", "string"],
}
_KEYWORDS = {
    "at_least": "minimum",
    "above": "exclusiveMinimum",
    "at_most": "maximum",
    "below": "exclusiveMaximum",
}


@dataclass(frozen=True)
class Option:
    """One option: its default and the JSON schema of its values."""

    name: str
    default: Any
    schema: Mapping[str, Any]


def schema_of(annotation: Any) -> dict[str, Any]:
    """Translate an annotation to a JSON schema; raises TypeError for forms options cannot have."""
    if annotation in _TYPES:
        return {"type": _TYPES[annotation]}
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        ranges = [asdict(part) for part in args[1:] if isinstance(part, Range)]
        ends = {word: end for part in ranges for word, end in part.items()}
        return schema_of(args[0]) | {
            _KEYWORDS[word]: end for word, end in ends.items() if end is not None
        }
    if origin is Literal:
        return {"enum": list(args)}
    if annotation == tuple[()]:
        return {"type": "array", "maxItems": 0}
    if origin in (list, tuple, Sequence):
        items = [a for a in args if a is not Ellipsis]
        return {"type": "array", "items": schema_of(items[0]), "minItems": 1}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": schema_of(args[1])}
    if origin in (typing.Union, types.UnionType):
        first, *others = options = [schema_of(a) for a in args]
        if others == [{"type": "null"}] and "enum" in first:
            return {"enum": [*first["enum"], None]}
        if others == [{"type": "null"}] and "type" in first and "items" not in first:
            return {**first, "type": [first["type"], "null"]}
        return {"anyOf": options}
    raise TypeError(f"an option cannot be annotated {annotation!r}")


@cache
def _validator() -> Any:
    """Return a class of validators for which 3.0 is no integer, and NaN and infinity no numbers."""
    from jsonschema import Draft202012Validator, validators

    def is_integer(_: Any, value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool)

    def is_number(_: Any, value: Any) -> bool:
        return is_integer(_, value) or (isinstance(value, float) and math.isfinite(value))

    checker = Draft202012Validator.TYPE_CHECKER.redefine_many(
        {"integer": is_integer, "number": is_number}
    )
    extended: Any = validators.extend  # without types upstream
    return extended(Draft202012Validator, type_checker=checker)


def violation(schema: Mapping[str, Any], value: Any) -> Any:
    """Return the most telling error of a value under a JSON schema, None if it has none."""
    from jsonschema.exceptions import best_match

    return best_match(_validator()(schema).iter_errors(value))


def options_of(function: Callable[..., Any]) -> dict[str, Option]:
    """Return the keyword-only options of ``function`` by name.

    Raises:
        TypeError: an option has no default or an annotation that no config value can have.
    """
    hints = typing.get_type_hints(function, include_extras=True)
    options = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            continue
        if parameter.default is inspect.Parameter.empty or name not in hints:
            raise TypeError(f"option '{name}' of {function.__name__} needs a default and a type")
        default = parameter.default
        default = list(default) if isinstance(default, tuple) else default
        options[name] = Option(name, default, schema_of(hints[name]))
    return options


def complete(
    options: Mapping[str, Option], values: Mapping[str, Any], where: str
) -> dict[str, Any]:
    """Check ``values`` against ``options`` and fill in the defaults.

    Args:
        options: what may be set.
        values: what the user set.
        where: how the error names the place, such as ``methods.lime``.

    Returns:
        All options with their values, keys sorted.

    Raises:
        InputError: an unknown option, or a value of the wrong type or out of range.
    """
    for name, value in values.items():
        if name not in options:
            raise InputError(f"{where}: unknown option '{name}'; {did_you_mean(name, options)}")
        try:
            json.dumps(value)
        except (TypeError, ValueError, RecursionError):
            raise InputError(f"{where}.{name}: {shown(value)} is no value of a config") from None
        error = violation(options[name].schema, value)
        if error is not None:
            place = "".join(f"[{step}]" for step in error.absolute_path)
            raise InputError(f"{where}.{name}{place}: {reason(error)}")
    return {name: values.get(name, options[name].default) for name in sorted(options)}
