"""Strict parsing of YAML and JSON: repeated keys and the like are errors in one line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from exparity.core.errors import InputError, shown
from exparity.core.escaping import UNSAFE

_OF_LINES = "prompts."
_DEEPEST = 100
"""Levels in YAML or JSON; each takes several of the 1,000 frames of Python's stack."""


def read_yaml(path: Path) -> Any:
    """Read a YAML file, or a JSON file if its suffix says so."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}:{line}: not UTF-8 text ({error.reason}); save it as UTF-8"
        ) from None
    return (parse_json if path.suffix == ".json" else parse_yaml)(text, str(path))


def parse_yaml(text: str, where: str) -> Any:
    """Parse YAML; a key that is twice in a mapping is an error."""
    import yaml  # takes as long as all else that a command line needs

    from exparity.core.strict_yaml import StrictLoader

    try:
        return StrictLoader(text, _DEEPEST).get_single_data()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{where}:{mark.line + 1}" if mark else where
        reason = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise InputError(f"{place}: not valid YAML ({reason})") from None
    except (ValueError, LookupError, AttributeError) as error:  # `!!int x`, or a 13th month
        raise InputError(f"{where}: not valid YAML ({error})") from None


def parse_json(text: str, where: str) -> Any:
    """Parse JSON."""
    try:
        value = json.loads(text, object_pairs_hook=_without_repeats)
        if text.count("[") + text.count("{") > _DEEPEST and _is_deep(value):
            raise RecursionError
        if "\\ud" in text.lower():
            json.dumps(value, ensure_ascii=False).encode()  # half of a surrogate pair cannot be
    except ValueError as error:
        raise InputError(f"{where}: not valid JSON ({error})") from None
    except RecursionError:
        raise InputError(f"{where}: JSON nested in more than {_DEEPEST} levels") from None
    return value


def _is_deep(value: object) -> bool:
    """Return whether JSON is nested in more levels than allowed."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(_DEEPEST):
        lists = [part.values() if isinstance(part, dict) else part for part in level]
        level = [part for part in chain.from_iterable(lists) if isinstance(part, dict | list)]
    return bool(level)


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    items = dict(pairs)
    if len(items) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key '{twice}' occurs twice; keep one")
    return items


def canonical(values: Mapping[str, object]) -> str:
    """Return the one JSON text of a mapping: what Snakemake compares to decide on reruns."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def json_value(value: object, where: str = "") -> Any:
    """Return a value of a config as it comes out of JSON: new mappings and lists, keys as text."""
    if isinstance(value, Mapping):
        return {
            json_value(
                key if isinstance(key, str) else json.dumps(key, default=repr), where
            ): json_value(inner, f"{where}.{key}" if where else str(key))
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [json_value(inner, f"{where}[{i}]") for i, inner in enumerate(value)]
    place = f"config: {where}: " if where else "config: "
    if isinstance(value, str):
        text = value.replace("\n", " ") if where.startswith(_OF_LINES) else value
        if unfit := UNSAFE.search(text):
            raise InputError(f"{place}{shown(value)} holds the character {unfit[0]!a}; remove it")
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise InputError(f"{place}{value!a} is no value of a config; put it in quotes")
