"""Checks of arguments of calls from Python; an error is one line."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, ParamSpec, TypeVar, overload

from pydantic import TypeAdapter, ValidationError

from exparity.core.errors import InputError, shown
from exparity.core.validation import faults_of, words_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Several = list[str] | tuple[str, ...] | Mapping[str, Mapping[str, object]]
"""Registered ids, or options by id; ``use`` among the options names the id of another name."""
P = ParamSpec("P")
R = TypeVar("R")
Plain = TypeVar("Plain")

_PLAIN = (bool, int, float, str, Path, types.NoneType)
_ARRAYS: dict[type, str] = {bool: "0 or 1", int: "integers", float: "numbers"}


@dataclass(frozen=True)
class Use:
    """A registered id and the options that a caller gives it.

    Attributes:
        registered: the id.
        options: as they are written, without defaults.
    """

    registered: str
    options: Mapping[str, object]


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Check a function's plain arguments by their annotations; numpy's scalars become Python's."""
    signature = inspect.signature(function)
    annotations = {
        name: annotation
        for name, parameter in signature.parameters.items()
        if (annotation := _plain_annotation(parameter.annotation, function)) is not None
    }

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            return function(*args, **kwargs)  # Python's own error names the function
        for name in annotations.keys() & bound.arguments.keys():
            bound.arguments[name] = checked_value(bound.arguments[name], annotations[name], name)
        return function(*bound.args, **bound.kwargs)

    return call


@overload
def checked_value(value: object, annotation: type[Plain], name: str) -> Plain: ...


@overload
def checked_value(value: object, annotation: object, name: str) -> object: ...


def checked_value(value: object, annotation: object, name: str) -> object:
    """Return a value that an annotation allows, as Python's own type."""
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        value = value.item()
    try:
        _adapter(annotation).validate_python(value)
    except ValidationError as error:
        raise InputError(f"{name}: {words_of(faults_of(error))}") from None
    return value


@functools.cache
def _adapter(annotation: Any) -> TypeAdapter[object]:
    return TypeAdapter(annotation, config={"strict": True, "allow_inf_nan": False})


def listed(value: Any, name: str, what: str) -> list[Any]:
    """Return the items of a list, column or generator; one text or a mapping is none of these."""
    try:
        if isinstance(value, str | bytes | Mapping | Set) or getattr(value, "ndim", 1) != 1:
            raise TypeError
        # pyarrow's columns yield scalars of its own.
        items = iter(value.to_pylist() if hasattr(value, "to_pylist") else value)
    except TypeError:
        raise InputError(f"{name} must be a list of {what}, not {shown(value)}") from None
    return list(items)


def is_missing(value: object) -> bool:
    """Return whether a value is none: None, NaN, or what pandas has in their place."""
    is_nan = isinstance(value, Real) and value != value
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")


def unmasked(values: object) -> NDArray[Any]:
    """Return values as an array; those that a masked array hides are NaN."""
    import numpy as np  # the command line must not wait for it

    if not np.ma.isMaskedArray(values):
        return np.asarray(values)
    return np.asarray(np.ma.filled(values.astype(np.float64), np.nan))


@overload
def array_of(  # type: ignore[overload-overlap]  # to Python, bool is a kind of int
    kind: type[bool], value: object, name: str
) -> NDArray[np.bool_]: ...


@overload
def array_of(kind: type[int], value: object, name: str) -> NDArray[np.int64]: ...


@overload
def array_of(kind: type[float], value: object, name: str) -> NDArray[np.float64]: ...


def array_of(kind: type[bool | int | float], value: object, name: str) -> NDArray[np.generic]:
    """Return a list of numbers as an array of its own."""
    import numpy as np  # the command line must not wait for it

    items = value if hasattr(value, "__array__") else listed(value, name, _ARRAYS[kind])
    dtype = np.dtype(kind)
    converted: NDArray[np.generic]
    try:
        array = unmasked(items)
        if array.ndim != 1 or array.dtype.kind not in "biufO":
            raise TypeError
        if array.dtype == dtype:
            return array.copy()
        with np.errstate(invalid="ignore"):
            converted = array.astype(dtype)
        if kind is not float and not np.array_equal(converted, array):
            raise TypeError
    # torch says RuntimeError where a tensor has a gradient.
    except (TypeError, ValueError, OverflowError, RuntimeError):
        raise InputError(f"{name} must be a list of {_ARRAYS[kind]}, not {shown(value)}") from None
    return converted


def uses_of(ids: object, block: str, all_ids: Sequence[str] | None = None) -> dict[str, Use]:
    """Return what a caller asks for, by the name that it has in results.

    Args:
        ids: an id, ids, or options by name; a name is a registered id unless ``use`` gives one.
        block: ``methods`` or ``metrics``.
        all_ids: what ``all`` stands for; None where it stands for nothing.

    Raises:
        InputError: ``ids`` are none of these.
    """
    if isinstance(ids, Mapping):
        if any(not (isinstance(k, str) and isinstance(v, Mapping)) for k, v in ids.items()):
            raise InputError(f"{block} must map ids to mappings of options, not {shown(ids)}")
        return {name: _use_of(name, options, block) for name, options in ids.items()}
    if isinstance(ids, str):
        ids = all_ids if ids == "all" and all_ids is not None else [ids]
    registered_ids = listed(ids, block, "ids")
    if not all(isinstance(registered, str) for registered in registered_ids):
        all_of_them = "" if all_ids is None else ", or 'all'"
        raise InputError(
            f"{block} must be ids, options by id{all_of_them}, not {shown(registered_ids)}"
        )
    return {registered: Use(registered, {}) for registered in registered_ids}


def _use_of(name: str, options: Mapping[str, object], block: str) -> Use:
    """Return the id that a name stands for, and its options without ``use``."""
    registered = options.get("use", name)
    if not isinstance(registered, str):
        raise InputError(f"{block}.{name}.use: must be an id, not {shown(registered)}")
    return Use(registered, {key: value for key, value in options.items() if key != "use"})


def _plain_annotation(annotation: str, function: Callable[..., object]) -> object:
    """Return an annotation of plain types alone; None for any other."""
    try:
        # Annotations are text; names that only type checkers know are of no plain type.
        evaluated = eval(annotation, getattr(function, "__globals__", {}))
    except (NameError, TypeError):  # and `self` has none
        return None
    if typing.get_origin(evaluated) is Literal:
        return evaluated
    is_union = typing.get_origin(evaluated) in (types.UnionType, typing.Union)
    parts = typing.get_args(evaluated) if is_union else (evaluated,)
    # Without marks such as a range.
    kinds = [part.__origin__ if typing.get_origin(part) is Annotated else part for part in parts]
    return evaluated if all(kind in _PLAIN for kind in kinds) else None
