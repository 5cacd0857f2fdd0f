"""Strict parsing of YAML and JSON: repeated keys and the like are errors in one line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exparity.core.errors import InputError, shown
from exparity.core.escaping import UNSAFE

if TYPE_CHECKING:
    import yaml

_OF_LINES = "prompts."
_MERGE = "tag:yaml.org,2002:merge"


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
    import yaml

    try:
        return yaml.load(text, _strict_loader())
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{where}:{mark.line + 1}" if mark else where
        reason = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise InputError(f"{place}: not valid YAML ({reason})") from None
    except (ValueError, LookupError, AttributeError) as error:  # `!!int x`, or a 13th month
        raise InputError(f"{where}: not valid YAML ({error})") from None


@cache
def _strict_loader() -> type[yaml.SafeLoader]:
    """Return a loader that refuses a key twice in its mapping, as YAML or as JSON compares keys."""
    import yaml  # takes as long as all else that a command line needs

    class StrictLoader(yaml.SafeLoader):
        def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
            node = super().compose_mapping_node(anchor)
            seen: dict[str, yaml.Node] = {}
            for key, _ in node.value:
                if key.id != "scalar" or key.tag == _MERGE:
                    continue
                written = self.construct_object(key)
                name = written if isinstance(written, str) else json.dumps(written, default=str)
                first = seen.setdefault(name, key)
                if first is not key:
                    place = f"'{first.value}' of line {first.start_mark.line + 1}"
                    problem = f"key '{key.value}' is {place} again; keep one"
                    raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            return node

    return StrictLoader


def parse_json(text: str, where: str) -> Any:
    """Parse JSON."""
    try:
        value = json.loads(text, object_pairs_hook=_without_repeats)
        if "\\ud" in text.lower():
            json.dumps(value, ensure_ascii=False).encode()  # half of a surrogate pair cannot be
    except ValueError as error:
        raise InputError(f"{where}: not valid JSON ({error})") from None
    return value


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    items = dict(pairs)
    if len(items) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key '{twice}' is there twice; keep one")
    return items


def canonical(values: Mapping[str, Any]) -> str:
    """Return the one JSON text of a mapping: what Snakemake compares to decide on reruns."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def json_value(value: Any, where: str = "") -> Any:
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
