"""A loader of YAML that refuses repeated keys and the like; importing yaml takes its time."""

from __future__ import annotations

import json
import re
from itertools import chain
from typing import Any

import yaml

_MERGE = "tag:yaml.org,2002:merge"
_BOOLEAN = "tag:yaml.org,2002:bool"
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_ODD_NUMBER = re.compile(r"[-+]?(0[0-9_]+$|[0-9][0-9_]*:)")
"""Of base 8 or 60, which YAML 1.1 has and hardly anybody means: 010 and 1:30."""
_YES_AND_NO = frozenset(["yes", "no", "on", "off"])
_MOST_REPEATED = 100_000


class StrictLoader(yaml.SafeLoader):
    """Refuses what YAML lets pass and nobody means.

    That is a key twice in its mapping, as YAML or as JSON compares keys, numbers of base 8 or 60,
    ``yes`` as a key, and aliases that repeat themselves, or too much.

    Args:
        text: the YAML.
        deepest: most levels in it.
    """

    def __init__(self, text: str, deepest: int) -> None:
        super().__init__(text)
        self.deepest = deepest
        self.open_anchors: list[str | None] = []  # of the nodes around the next one
        self.sizes: dict[int, int] = {}  # values in a node, by its id
        self.n_repeated = 0  # values that aliases repeat

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Refuse deep nesting."""
        event: yaml.NodeEvent = self.peek_event()  # type: ignore[no-untyped-call]
        if self.check_event(yaml.AliasEvent):
            return self.compose_alias(parent, index)
        if len(self.open_anchors) >= self.deepest:
            raise _refused(f"nested in more than {self.deepest} levels", event)
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
        """Refuse an alias that lies within what it repeats, or repeats too much."""
        event: yaml.NodeEvent = self.peek_event()  # type: ignore[no-untyped-call]
        if event.anchor in self.open_anchors:
            raise _refused(f"*{event.anchor} lies within what it repeats", event)
        node = super().compose_node(parent, index)
        self.n_repeated += self.sizes[id(node)]
        if self.n_repeated > _MOST_REPEATED:
            raise _refused(f"aliases repeat more than {_MOST_REPEATED:,} values", event)
        return node

    def compose_scalar_node(self, anchor: dict[str, yaml.Node]) -> yaml.ScalarNode:
        """Refuse numbers of base 8 or 60."""
        node = super().compose_scalar_node(anchor)
        if node.tag in _NUMBERS and _ODD_NUMBER.match(node.value):
            read = self.construct_object(node)
            problem = f"{node.value} is the number {read} in YAML; write that, or put it in quotes"
            raise _refused(problem, node)
        return node

    def compose_mapping_node(self, anchor: dict[str, yaml.Node]) -> yaml.MappingNode:
        """Refuse keys that are twice in a mapping, and keys such as ``yes``."""
        node = super().compose_mapping_node(anchor)
        seen: dict[str, yaml.Node] = {}
        for key, _ in node.value:
            if key.id != "scalar" or key.tag == _MERGE:
                continue
            if key.value.lower() in _YES_AND_NO and key.tag == _BOOLEAN:
                raise _refused(f"key {key.value} is a boolean in YAML; put it in quotes", key)
            written = self.construct_object(key)
            name = written if isinstance(written, str) else json.dumps(written, default=str)
            first = seen.setdefault(name, key)
            if first is not key:
                place = f"'{first.value}' of line {first.start_mark.line + 1}"
                raise _refused(f"key '{key.value}' is {place} again; keep one", key)
        return node


def _refused(problem: str, place: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=place.start_mark)
