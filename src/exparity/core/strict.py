"""Strict parsing of YAML and JSON: repeated keys and the like are errors in one line."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exparity.core.errors import InputError, shown
from exparity.core.escaping import UNSAFE

if TYPE_CHECKING:
    import yaml

_OF_LINES = "prompts."
_MERGE = "tag:yaml.org,2002:merge"
_BOOLEAN = "tag:yaml.org,2002:bool"
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_ODD_NUMBER = re.compile(r"[-+]?(0[0-9_]+$|[0-9][0-9_]*:)")
"""Of base 8 or 60, which YAML 1.1 has and hardly anybody means: 010 and 1:30."""
_YES_AND_NO = frozenset(["yes", "no", "on", "off"])
_DEEPEST = 100
"""Levels in YAML or JSON; each takes several of Python's stack, of which there are 1,000."""
_MOST_REPEATED = 100_000


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
    """Return a loader that refuses what YAML lets pass and nobody means.

    That is a key twice in its mapping, as YAML or as JSON compares keys, numbers of base 8 or 60,
    ``yes`` as a key, and aliases that repeat themselves, or too much.
    """
    import yaml  # takes as long as all else that a command line needs

    class StrictLoader(yaml.SafeLoader):
        def __init__(self, stream: str) -> None:
            super().__init__(stream)
            self.open_anchors: list[str | None] = []  # of the nodes around the next one
            self.sizes: dict[int, int] = {}  # values in a node, by its id
            self.n_repeated = 0  # values that aliases repeat

        def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
            event: yaml.NodeEvent = self.peek_event()  # type: ignore[no-untyped-call]
            if self.check_event(yaml.AliasEvent):
                return self.compose_alias(parent, index)
            if len(self.open_anchors) >= _DEEPEST:
                raise refused(f"nested in more than {_DEEPEST} levels", event)
            self.open_anchors.append(event.anchor)
            node = super().compose_node(parent, index)
            self.open_anchors.pop()
            parts: list[yaml.Node] = []
            if isinstance(node, yaml.SequenceNode):
                parts = node.value
            elif isinstance(node, yaml.MappingNode):
                parts = [*chain.from_iterable(node.value)]
            self.sizes[id(node)] = 1 + sum(self.sizes[id(part)] for part in parts)
            return node

        def compose_alias(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
            event: yaml.NodeEvent = self.peek_event()  # type: ignore[no-untyped-call]
            if event.anchor in self.open_anchors:
                raise refused(f"*{event.anchor} lies within what it repeats", event)
            node = super().compose_node(parent, index)
            self.n_repeated += self.sizes[id(node)]
            if self.n_repeated > _MOST_REPEATED:
                raise refused(f"aliases repeat more than {_MOST_REPEATED:,} values", event)
            return node

        def compose_scalar_node(self, anchor: dict[str, yaml.Node]) -> yaml.ScalarNode:
            node = super().compose_scalar_node(anchor)
            if node.tag in _NUMBERS and _ODD_NUMBER.match(node.value):
                read = self.construct_object(node)
                problem = (
                    f"{node.value} is the number {read} in YAML; write that, or put it in quotes"
                )
                raise refused(problem, node)
            return node

        def compose_mapping_node(self, anchor: dict[str, yaml.Node]) -> yaml.MappingNode:
            node = super().compose_mapping_node(anchor)
            seen: dict[str, yaml.Node] = {}
            for key, _ in node.value:
                if key.id != "scalar" or key.tag == _MERGE:
                    continue
                if key.value.lower() in _YES_AND_NO and key.tag == _BOOLEAN:
                    raise refused(f"key {key.value} is a boolean in YAML; put it in quotes", key)
                written = self.construct_object(key)
                name = written if isinstance(written, str) else json.dumps(written, default=str)
                first = seen.setdefault(name, key)
                if first is not key:
                    place = f"'{first.value}' of line {first.start_mark.line + 1}"
                    raise refused(f"key '{key.value}' is {place} again; keep one", key)
            return node

    def refused(problem: str, place: Any) -> yaml.MarkedYAMLError:
        return yaml.MarkedYAMLError(problem=problem, problem_mark=place.start_mark)

    return StrictLoader


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
        raise ValueError(f"the key '{twice}' is there twice; keep one")
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
