"""Types as JSON schemas, and values held to them.

The part of JSON Schema that types of options and of the config need, without the library: a job of
a third of a second must not spend a quarter of it on importing a validator.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Never

from exparity.core.flags import Items, Range, Text

_TYPES: dict[Any, Any] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    type(None): "null",
    Any: ["array", "boolean", "null", "number", "object", "string"],
}
_ENDS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "at_least": ("minimum", lambda value, end: value >= end),
    "at_most": ("maximum", lambda value, end: value <= end),
    "above": ("exclusiveMinimum", lambda value, end: value > end),
    "below": ("exclusiveMaximum", lambda value, end: value < end),
}
_SECTION = re.compile(r"^(?:Args|Attributes):\n((?: .*\n|\n)*)", re.MULTILINE)
_ITEM = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)


class Open:
    """A block of the config that holds more than its own keys: the options of what it names."""

    open: ClassVar[bool] = True


def documented(described: Callable[..., Any]) -> dict[str, str]:
    """Return what docstrings say of each argument of a function, or attribute of a class."""
    bases = reversed(described.__mro__) if isinstance(described, type) else [described]
    texts = [f"{inspect.cleandoc(base.__doc__ or '')}\n" for base in bases]
    return {
        name: " ".join(line.split()).rstrip(".")
        for text in texts
        for section in _SECTION.findall(text)
        for name, line in _ITEM.findall(section)
    }


def json_schema(annotation: Any) -> dict[str, Any]:
    """Translate a type to a JSON schema."""
    if annotation in _TYPES:
        return {"type": _TYPES[annotation]}
    if annotation is Never:
        return {"not": {}}
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        return _of_class(annotation)
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        schema = json_schema(args[0])
        for mark in args[1:]:
            schema |= _marked(mark, is_list=schema.get("type") == "array")
        return schema
    if origin is Literal:
        return {"enum": list(args)}
    if annotation == tuple[()]:
        return {"type": "array", "maxItems": 0}
    if origin in (list, tuple, Sequence):
        items = [a for a in args if a is not Ellipsis]
        return {"type": "array", "items": json_schema(items[0]), "minItems": 1}
    if origin is Mapping:
        keys, values = map(json_schema, args)
        names = {} if keys == {"type": "string"} else {"propertyNames": keys}
        return {"type": "object", **names, "additionalProperties": values}
    if origin in (typing.Union, types.UnionType):
        first, *others = options = [json_schema(a) for a in args]
        if others == [{"type": "null"}] and "enum" in first:
            return {"enum": [*first["enum"], None]}
        if others == [{"type": "null"}] and "type" in first and "items" not in first:
            return {**first, "type": [first["type"], "null"]}
        return {"anyOf": options}
    raise TypeError(f"an option cannot be annotated {annotation!r}")


def _marked(mark: Any, *, is_list: bool) -> dict[str, Any]:
    """Return what a mark on a type adds to its schema."""
    if isinstance(mark, Range):
        ends = {_ENDS[name][0]: end for name, end in vars(mark).items()}
        return {word: end for word, end in ends.items() if end is not None}
    if isinstance(mark, Text):
        pattern = f"^(?:{mark.pattern})$" if mark.pattern else ""
        rules = {"pattern": pattern, "maxLength": mark.longest, "$comment": mark.rule}
        return {word: rule for word, rule in rules.items() if rule}
    if isinstance(mark, Items):
        distinct = {"uniqueItems": True} if mark.distinct else {}
        return {"minItems" if is_list else "minProperties": mark.at_least, **distinct}
    return {}


@cache
def _of_class(described: Any) -> dict[str, Any]:
    """Return the schema of a block of the config: a data class with its attributes described."""
    hints, words = typing.get_type_hints(described, include_extras=True), documented(described)
    properties, required = {}, []
    for field in dataclasses.fields(described):
        meaning = words.get(field.name, "").replace("``", "`").replace("if None", "if null")
        told = {"description": f"{meaning[0].upper()}{meaning[1:]}."} if meaning else {}
        schema = told | json_schema(hints[field.name])
        made = field.default_factory
        default = field.default if made is dataclasses.MISSING else made()
        if default is dataclasses.MISSING:
            required.append(field.name)
        elif dataclasses.is_dataclass(default):
            schema["default"] = {}
        elif default is not None or violation(schema, None) is None:
            schema["default"] = list(default) if isinstance(default, tuple) else default
        properties[field.name] = schema
    return {
        "type": "object",
        **({} if issubclass(described, Open) else {"additionalProperties": False}),
        **({"required": required} if required else {}),
        "properties": properties,
    }


class Violation(NamedTuple):
    """A value that a schema does not allow.

    Attributes:
        path: keys and positions that lead to it.
        rule: the word of the schema that it breaks.
        schema: the schema of the value itself.
        value: the value.
    """

    path: tuple[str | int, ...]
    rule: str
    schema: Mapping[str, Any]
    value: Any


def violation(schema: Mapping[str, Any], value: Any) -> Violation | None:
    """Return the first of the outermost violations of a schema by a value, None if it has none.

    3.0 is no integer, and NaN and infinity are no numbers.
    """
    return min(_violations(schema, value, ()), key=lambda found: len(found.path), default=None)


def _violations(
    schema: Mapping[str, Any], value: Any, path: tuple[str | int, ...]
) -> Iterator[Violation]:
    """Yield all violations of a schema by a value; one where its type is another."""
    if "anyOf" in schema:
        each = [[*_violations(part, value, path)] for part in schema["anyOf"]]
        if all(each):
            of_its_type = [found for found in each if not _is_of_another_type(found, path)]
            yield from of_its_type[0] if of_its_type else [Violation(path, "anyOf", schema, value)]
        return
    kinds = schema.get("type", ())
    if kinds and not any(_IS[kind](value) for kind in ([kinds] if type(kinds) is str else kinds)):
        yield Violation(path, "type", schema, value)
        return
    properties, others = schema.get("properties", {}), schema.get("additionalProperties", {})
    if others is False and isinstance(value, dict) and not value.keys() <= properties.keys():
        yield Violation(path, "additionalProperties", schema, value)
    for rule, is_kept in _RULES.items():
        if rule in schema and not is_kept(value, schema[rule]):
            yield Violation(path, rule, schema, value)
    if isinstance(value, dict):
        for key, inner in value.items():
            for broken in _violations(schema.get("propertyNames", {}), key, path):
                yield broken._replace(rule="propertyNames")
            yield from _violations(properties.get(key, others or {}), inner, (*path, key))
    elif isinstance(value, list) and "items" in schema:
        for position, inner in enumerate(value):
            yield from _violations(schema["items"], inner, (*path, position))


def _is_of_another_type(found: Sequence[Violation], path: tuple[str | int, ...]) -> bool:
    return found[0].path == path and found[0].rule in ("type", "enum", "anyOf")


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return _is_integer(value) or (isinstance(value, float) and math.isfinite(value))


def _same(one: Any, other: Any) -> bool:
    """Return whether two values are the same in JSON, where true is not 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _are_distinct(values: Any, _: Any) -> bool:
    return not any(_same(one, two) for i, one in enumerate(values) for two in values[:i])


def _is_within(is_kept: Callable[[Any, Any], bool], value: Any, end: float) -> bool:
    return not _is_number(value) or is_kept(value, end)


_IS: dict[str, Callable[[Any], bool]] = {
    "array": lambda value: isinstance(value, list),
    "boolean": lambda value: isinstance(value, bool),
    "integer": _is_integer,
    "null": lambda value: value is None,
    "number": _is_number,
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
}
_RULES: dict[str, Callable[[Any, Any], bool]] = {
    "not": lambda value, _: False,
    "enum": lambda value, choices: any(_same(value, choice) for choice in choices),
    **{word: partial(_is_within, is_kept) for word, is_kept in _ENDS.values()},
    "pattern": lambda value, pattern: value is None or bool(re.fullmatch(pattern, value)),
    "maxLength": lambda value, longest: value is None or len(value) <= longest,
    "minItems": lambda value, fewest: value is None or len(value) >= fewest,
    "maxItems": lambda value, most: value is None or len(value) <= most,
    "uniqueItems": _are_distinct,
    "minProperties": lambda value, fewest: value is None or len(value) >= fewest,
    "required": lambda value, keys: not isinstance(value, dict) or value.keys() >= {*keys},
}
