"""Explainers of other libraries: which apply, their options, and what they refuse."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType

from pydantic import BeforeValidator

from exparity.core.errors import ExparityError, InputError, reason_of, require_known, shown

Options = Mapping[str, object]
FUNCTION = "takes a function, and an option is a value of a config"
"""Reason for an option that cannot be set."""


def applying(refused: Mapping[str, str]) -> BeforeValidator:
    """Return a mark on the type of an algorithm's name that tells why others do not apply."""

    def check(name: object) -> object:
        if isinstance(name, str) and name in refused:
            raise ValueError(f"{name} does not apply: it {refused[name]}")
        return name

    return BeforeValidator(check)


def sorted_options(
    options: Options,
    where: str,
    constructor: Callable[..., object],
    call: Callable[..., object],
    *,
    also: Iterable[str] = (),
    settled: Mapping[str, str],
) -> tuple[dict[str, object], dict[str, object]]:
    """Return which options a constructor takes, and which a call, by their signatures.

    Args:
        options: as they are set.
        where: name of the explainer, for messages.
        constructor: class of the library.
        call: what explains a text, with ``self`` or without.
        also: options that the call takes and its signature does not name.
        settled: options that cannot be set, with the reason.

    Raises:
        InputError: an option that neither has, or that is settled.
    """
    constructor_names = _names(constructor) - settled.keys()
    call_names = (_names(call) | {*also}) - settled.keys()
    for name in options:
        if name in settled:
            raise InputError(f"{where}: option '{name}' {settled[name]}")
        require_known(name, constructor_names | call_names, f"{where} has no option '{name}'")
    return (
        {name: value for name, value in options.items() if name in constructor_names},
        {name: value for name, value in options.items() if name not in constructor_names},
    )


def _names(function: Callable[..., object]) -> set[str]:
    """Return the names of a function's arguments."""
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(function).parameters.items()
    return {name for name, parameter in parameters if parameter.kind not in kinds} - {"self"}


def object_of(value: object, module: ModuleType, names: Collection[str], where: str) -> object:
    """Return an object of a module, by the name of its class, or ``use`` and its options."""
    arguments = dict(value) if isinstance(value, Mapping) else {"use": value}
    name = arguments.pop("use", None)
    if not isinstance(name, str):
        raise InputError(f"{where}: {shown(value)} must be a name, or `use` with one and options")
    require_known(name, names, f"{where}: no '{name}' in {module.__name__}")
    try:
        return getattr(module, name)(**arguments)
    except TypeError as error:
        raise InputError(f"{where}: {name}: {reason_of(error)}") from None


@contextmanager
def refusals(where: str) -> Iterator[None]:
    """Within the context, what a library refuses is bad input, in one line."""
    try:
        yield
    except ExparityError:
        raise
    except Exception as error:  # libraries have errors of their own
        raise InputError(f"{where}: {reason_of(error)}") from error
