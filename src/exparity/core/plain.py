"""Plain values from outside, such as JSON, as the types that they must have; else a TypeError."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def as_mapping(value: object) -> Mapping[str, object]:
    """Return a mapping."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{value!r} is no mapping")
    return value


def as_list(value: object) -> Sequence[object]:
    """Return a list or a tuple."""
    if not isinstance(value, list | tuple):
        raise TypeError(f"{value!r} is no list")
    return value


def as_texts(value: object) -> list[str]:
    """Return a list of texts."""
    return [as_text(item) for item in as_list(value)]


def as_text(value: object) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def as_int(value: object) -> int:
    """Return a whole number."""
    if not isinstance(value, int | float):
        raise TypeError(f"{value!r} is no number")
    return int(value)


def as_float(value: object) -> float:
    """Return a number."""
    if not isinstance(value, int | float):
        raise TypeError(f"{value!r} is no number")
    return float(value)
