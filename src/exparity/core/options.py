"""Options of methods, metrics and datasets, read from the signatures that use them.

The keyword-only arguments of a registered function are its options: name, default and allowed
values come from the signature and its annotations, so there is no second list to keep.
"""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from exparity.core.calls import shown
from exparity.core.errors import InputError, did_you_mean
from exparity.core.schema import json_schema, violation
from exparity.core.wording import reason


@dataclass(frozen=True)
class Option:
    """One option: its default and the JSON schema of its values."""

    name: str
    default: Any
    schema: Mapping[str, Any]


def options_of(function: Callable[..., Any]) -> dict[str, Option]:
    """Return the keyword-only options of ``function`` by name."""
    hints = typing.get_type_hints(function, include_extras=True)
    options = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            continue
        if parameter.default is inspect.Parameter.empty or name not in hints:
            raise TypeError(f"option '{name}' of {function.__name__} needs a default and a type")
        default = parameter.default
        default = list(default) if isinstance(default, tuple) else default
        options[name] = Option(name, default, json_schema(hints[name]))
    return options


def complete(
    options: Mapping[str, Option], values: Mapping[str, Any], where: str
) -> dict[str, Any]:
    """Check ``values`` against ``options``; return all options with their values, keys sorted."""
    for name, value in values.items():
        if name not in options:
            raise InputError(f"{where}: unknown option '{name}'; {did_you_mean(name, options)}")
        try:
            json.dumps(value)
        except (TypeError, ValueError, RecursionError):
            raise InputError(f"{where}.{name}: {shown(value)} is no value of a config") from None
        error = violation(options[name].schema, value)
        if error is not None:
            place = "".join(f"[{step}]" for step in error.path)
            raise InputError(f"{where}.{name}{place}: {reason(error)}")
    return {name: values.get(name, options[name].default) for name in sorted(options)}
