"""Settings as pydantic models: checked once, where they enter, with errors that a user can act on.

A block of the config is a :class:`Settings`. The keyword-only arguments of a registered function
are one, too: :func:`options_of` makes it from the signature, so there is no second list to keep.
"""

from __future__ import annotations

import inspect
import json
import re
import types
import typing
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    NamedTuple,
    TypeVar,
    get_args,
    get_origin,
)

from annotated_types import MinLen
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationError,
    create_model,
)
from pydantic_core import core_schema

from exparity.core.errors import InputError, did_you_mean, shown
from exparity.core.grouping import grouped

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)

Kind = TypeVar("Kind", bound="Settings")
_SECTION = re.compile(r"^(?:Args|Attributes):\n((?: .*\n|\n)*)", re.MULTILINE)
_ITEM = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)
_NUMBER = re.compile(r"[-+]?\d+(\.\d*)?([eE][-+]?\d+)?")

_PLAIN = re.compile(r"[\w./-]+")  # text that YAML takes without quotes
_OF_LISTS = ("list_type", "tuple_type", "sequence_type")
_OF_MAPPINGS = ("dict_type", "mapping_type", "model_type", "model_attributes_type")
"""Types of pydantic's faults where a list, or a mapping, is meant."""


class _Meta(ModelMetaclass):
    """Has errors of a call from Python in lines."""

    where: str

    def __call__(cls, *args: object, **values: object) -> Any:
        try:
            return super().__call__(*args, **values)
        except ValidationError as error:
            raise InputError(*_lines(cls, error, values, cls.where)) from None


class Settings(BaseModel, metaclass=_Meta):
    """A closed block of settings, which cannot be changed.

    Attributes:
        where: its name in messages, where it is made from Python.
    """

    where: ClassVar[str] = ""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True
    )

    @property
    def set_values(self) -> dict[str, object]:
        """Keys that were set, without defaults, as in JSON."""
        return self.model_dump(mode="json", exclude_unset=True, warnings=False)

    @property
    def all_values(self) -> dict[str, Any]:
        """Every key with its value, as in JSON."""
        # Defaults of signatures are tuples, also where the type is a list.
        return self.model_dump(mode="json", warnings=False)


class Open(Settings):
    """A block that holds more than its own keys: the options of what it names."""

    model_config = ConfigDict(extra="allow")


def Range(
    *,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    below: float | None = None,
) -> object:
    """Return a range as a mark on the type of a number, such as ``Annotated[int, ...]``."""
    return Field(ge=at_least, gt=above, le=at_most, lt=below)


@dataclass(frozen=True)
class Text:
    """Form of a text, as a mark on its type.

    Attributes:
        pattern: a regular expression that all of it matches.
        longest: the most characters that it has.
        rule: what both ask for, as an instruction to who wrote another text.
    """

    pattern: str = ""
    longest: int = 0
    rule: str = ""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_after_validator_function(self._held, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, object]:
        longest = {"maxLength": self.longest} if self.longest else {}
        pattern = {"pattern": f"^(?:{self.pattern})$"} if self.pattern else {}
        return {**handler(schema), **pattern, **longest, "$comment": self.rule}

    def _held(self, text: str) -> str:
        fits = not self.pattern or re.fullmatch(self.pattern, text)
        if not fits or len(text) > (self.longest or len(text)):
            raise ValueError(f"{shown(text)} is refused: {self.rule}")
        return text


def _check_distinct(items: Sequence[Hashable]) -> Sequence[Hashable]:
    if len({*items}) < len(items):
        raise ValueError(f"{shown([*items])} names one twice")
    return items


DISTINCT = AfterValidator(_check_distinct)
"""Marks a list in which nothing is twice."""


def read_settings(kind: type[Kind], values: Mapping[str, object], where: str) -> Kind:
    """Return settings from JSON values; an error has a line for each fault."""
    for name, value in values.items():
        try:
            json.dumps(value)
        except TypeError:
            place = f"{where}.{name}" if where else name
            raise InputError(f"{place}: {shown(value)} is no value of a config") from None
    try:
        return kind.model_validate_json(json.dumps(values))
    except ValidationError as error:
        raise InputError(*_lines(kind, error, values, where)) from None


def complete(kind: type[Settings], values: Mapping[str, object], where: str) -> dict[str, Any]:
    """Check ``values``; return all options with their values, sorted by name."""
    return dict(sorted(read_settings(kind, values, where).all_values.items()))


@cache
def options_of(
    *functions: Callable[..., object], without: Sequence[str] = (), **defaults: object
) -> type[Settings]:
    """Return the keyword-only arguments of functions, some left out, as one block of settings."""
    fields: dict[str, Any] = {}  # pairs of a type and a default
    for function in functions:
        hints = typing.get_type_hints(function, include_extras=True)
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.kind is not inspect.Parameter.KEYWORD_ONLY or name in without:
                # An input that may be missing is None.
                if parameter.default not in (inspect.Parameter.empty, None) and name not in without:
                    raise TypeError(f"option '{name}' of {function.__name__} must follow a `*`")
                continue
            if name in fields:
                raise TypeError(f"option '{name}' of {functions[0].__name__} is taken; rename it")
            if parameter.default is inspect.Parameter.empty or name not in hints:
                raise TypeError(
                    f"option '{name}' of {function.__name__} needs a default and a type"
                )
            fields[name] = (_filled(hints[name]), defaults.get(name, parameter.default))
    return create_model(functions[-1].__name__, __base__=Settings, **fields)


def defaults_of(kind: type[Settings]) -> dict[str, object]:
    """Return the defaults of settings, as JSON has them."""
    return kind.model_construct().all_values


def documented(described: Callable[..., object]) -> dict[str, str]:
    """Return what docstrings say of each argument of a function, or attribute of a class."""
    bases = reversed(described.__mro__) if isinstance(described, type) else [described]
    texts = [f"{inspect.cleandoc(base.__doc__ or '')}\n" for base in bases]
    sections = [section for text in texts for section in _SECTION.findall(text)]
    return {
        name: " ".join(line.split()).rstrip(".")
        for section in sections
        for name, line in _ITEM.findall(section)
    }


def _filled(annotation: object) -> object:
    """Return a type whose lists, unless they say otherwise, are not empty."""
    origin = get_origin(annotation)
    args = get_args(annotation)
    if origin is Annotated:
        return Annotated[(_filled(args[0]), *args[1:])]
    if origin in (typing.Union, types.UnionType):
        return typing.Union[tuple(map(_filled, args))]  # noqa: UP007
    if origin in (list, tuple, Sequence) and args:
        inner = tuple(_filled(arg) if arg is not Ellipsis else arg for arg in args)
        return Annotated[origin[inner], MinLen(1)]
    return origin[tuple(map(_filled, args))] if origin is Mapping else annotation


class Fault(NamedTuple):
    """What pydantic says of a value.

    Attributes:
        kind: name of the fault, such as ``missing``.
        steps: keys, positions and branches of unions that lead to it.
        value: what was found.
        message: what should be there.
        error: the error that a check of ours raised, if it did.
    """

    kind: str
    steps: tuple[int | str, ...]
    value: object
    message: str
    error: object = None


def faults_of(error: ValidationError) -> list[Fault]:
    """Return the faults of values."""
    return [
        Fault(
            fault["type"],
            fault["loc"],
            fault["input"],
            fault["msg"],
            fault.get("ctx", {}).get("error"),
        )
        for fault in error.errors(include_url=False)
    ]


def _lines(kind: ModelMetaclass, error: ValidationError, values: object, where: str) -> list[str]:
    """Return a line for each fault: its place, why it is one, and the value."""
    by_place = grouped(faults_of(error), lambda fault: _place(fault, values))
    noun = "key" if where.endswith(":") else "option"
    head = where.rstrip(":")
    stem = where if where.endswith(":") or not where else f"{where}."
    lines = []
    for place, faults in by_place.items():
        # Of a union, the branch that leads furthest says most, then those of the value's type.
        if any(other != place and other[: len(place)] == place for other in by_place):
            continue
        wrong_type = ("_type", "literal_error")
        others = [fault for fault in faults if not fault.kind.endswith(wrong_type)]
        faults = others or faults
        path = re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", ".".join(map(str, place)))
        if faults[0].kind == "extra_forbidden":
            hint = did_you_mean(str(place[-1]), _keys(kind, place[:-1]))
            lines.append(": ".join(filter(None, (head, f"unknown {noun} '{path}'; {hint}"))))
        else:
            at = f"{stem}{' ' * stem.endswith(':')}{path}" if path else head
            lines.append(": ".join(filter(None, (at, words_of(faults)))))
    return lines


def _place(fault: Fault, values: Any) -> tuple[int | str, ...]:
    """Return the keys and positions that lead to a fault, without the branches of unions."""
    steps = fault.steps
    if steps[-1:] == ("[key]",):
        steps = steps[:-2]
    place: list[int | str] = []
    for step in steps:
        inside = isinstance(values, Mapping) and step in values
        if inside or (isinstance(values, list | tuple) and isinstance(step, int)):
            place.append(step)
            values = values[step]
    if fault.kind == "missing":
        place.append(steps[-1])
    return tuple(place)


def _keys(kind: Any, place: Sequence[int | str]) -> Sequence[str]:
    """Return the keys that a place within settings may have."""
    blocks = [kind]
    for step in place:
        fields = [block.model_fields[step] for block in blocks if step in block.model_fields]
        blocks = [inner for field in fields for inner in _blocks(field.annotation)] or blocks
    return [key for block in blocks for key in block.model_fields]


def _blocks(annotation: object) -> Iterator[type[Settings]]:
    if isinstance(annotation, type) and issubclass(annotation, Settings):
        yield annotation
    for part in get_args(annotation):
        yield from _blocks(part)


def words_of(faults: Sequence[Fault]) -> str:
    """Return what pydantic says of a value, the value, and how YAML has numbers."""
    fault = faults[0]
    value = fault.value
    if fault.kind == "value_error":
        return str(fault.error)
    reasons = dict.fromkeys(fault.message for fault in faults)
    reason = " or ".join(reasons).replace(" or Input should be ", " or ")
    if fault.kind == "missing":
        return reason
    kinds = {fault.kind for fault in faults}
    is_number = kinds & {"int_type", "float_type"}
    hint = ""
    if isinstance(value, bool) and "string_type" in kinds:
        hint = "; YAML reads yes, no, on and off as true and false: put names in quotes"
    if is_number and isinstance(value, str) and _NUMBER.fullmatch(value):
        hint = "; write powers as 1.0e-3" if "e" in value.lower() else "; write it without quotes"
    return f"{reason}, found {shown(value)}{hint or _form_meant(fault.kind, value)}"


def _form_meant(fault: str, value: object) -> str:
    """Return a clause with the YAML of a list or a mapping that a value is meant as."""
    is_name = isinstance(value, str) and value.isidentifier()
    if fault in _OF_LISTS and isinstance(value, int) and not isinstance(value, bool):
        count = f", or [{', '.join(map(str, range(value)))}] for {value}" if 1 < value <= 10 else ""
        return f"; write a list: [{value}]{count}"
    if fault in _OF_LISTS and isinstance(value, str) and _PLAIN.fullmatch(value):
        return f"; write a list: [{value}]"
    if fault in _OF_MAPPINGS and (is_name or isinstance(value, list | tuple)):
        names = value if isinstance(value, list | tuple) else [value]
        if names and all(isinstance(name, str) and name.isidentifier() for name in names):
            return f"; write a mapping: {{{', '.join(f'{name}: {{}}' for name in names)}}}"
    return ""
