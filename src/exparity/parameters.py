"""Options of methods, metrics and datasets, read from the signatures that use them.

The keyword-only arguments of a registered function are its options: name, default and allowed
values come from the signature and its annotations, so there is no second list to keep.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from exparity.errors import InputError, did_you_mean
from exparity.interface import Parameters

_SCALARS: dict[Any, str] = {bool: "boolean", int: "integer", float: "number", str: "string"}


@dataclass(frozen=True)
class Option:
    """One option: its default and the JSON schema of its values."""

    name: str
    default: Any
    schema: Mapping[str, Any]


def _schema(annotation: Any) -> dict[str, Any]:
    """Translate an annotation to a JSON schema; raises TypeError for forms options cannot have."""
    if annotation in _SCALARS:
        return {"type": _SCALARS[annotation]}
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Literal:
        return {"enum": list(args)}
    if origin in (list, tuple):
        items = [a for a in args if a is not Ellipsis]
        return {"type": "array", "items": _schema(items[0]), "minItems": 1}
    if origin in (typing.Union, types.UnionType):
        options = [{"type": "null"} if a is type(None) else _schema(a) for a in args]
        return {"anyOf": options}
    raise TypeError(f"an option cannot be annotated {annotation!r}")


def validator(schema: Mapping[str, Any]) -> Any:
    """Return a JSON schema validator for which 3.0 is no integer, as it is none in Python."""
    from jsonschema import Draft202012Validator, validators

    checker = Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    )
    extended: Any = validators.extend  # without types upstream
    return extended(Draft202012Validator, type_checker=checker)(schema)


def options_of(function: Callable[..., Any]) -> dict[str, Option]:
    """Return the keyword-only options of ``function`` by name.

    Raises:
        TypeError: an option has no default or an annotation that no config value can have.
    """
    hints = typing.get_type_hints(function)
    options = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            continue
        if parameter.default is inspect.Parameter.empty or name not in hints:
            raise TypeError(f"option '{name}' of {function.__name__} needs a default and a type")
        default = parameter.default
        default = list(default) if isinstance(default, tuple) else default
        options[name] = Option(name, default, _schema(hints[name]))
    return options


def complete(options: Mapping[str, Option], values: Mapping[str, Any], where: str) -> Parameters:
    """Check ``values`` against ``options`` and fill in the defaults.

    Args:
        options: what may be set.
        values: what the user set.
        where: how the error names the place, such as ``methods.lime``.

    Returns:
        All options with their values, keys sorted.

    Raises:
        InputError: an unknown option or a value of the wrong type.
    """
    for name, value in values.items():
        if name not in options:
            raise InputError(f"{where}: unknown option '{name}'; {did_you_mean(name, options)}")
        error = next(iter(validator(options[name].schema).iter_errors(value)), None)
        if error is not None:
            raise InputError(f"{where}.{name}: {error.message}")
    return {name: values.get(name, options[name].default) for name in sorted(options)}
