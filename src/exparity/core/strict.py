"""YAML and JSON of users: what a parser would let pass in silence is one clear line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exparity.core.errors import InputError
from exparity.core.escaping import UNSAFE

if TYPE_CHECKING:
    import yaml

MAX_VALUES = 100_000
"""Number of values of a YAML file; those of an alias count at every use."""

_MAX_DEPTH = 50
_TOO_DEEP = f"nested more than {_MAX_DEPTH} levels deep"
_SHOWN = 80
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
    """Parse YAML whose values are those of JSON."""
    import yaml

    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        if root is not None:
            _Check(loader, where).visit(root, ())
        return None if root is None else loader.construct_document(root)
    except RecursionError:  # where the stack ends before the check starts
        raise InputError(f"{where}:{loader.line + 1}: {_TOO_DEEP}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{where}:{mark.line + 1}" if mark else where
        reason = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise InputError(f"{place}: not valid YAML ({reason})") from None


class _Check:
    """Looks through the nodes of a document before any of them is expanded."""

    def __init__(self, loader: yaml.SafeLoader, where: str) -> None:
        self._loader = loader
        self._where = where
        self._left = MAX_VALUES

    def visit(self, node: Any, above: tuple[yaml.Node, ...]) -> None:
        self._left -= 1
        if node in above:
            raise self._error(node, "holds itself through an alias")
        if self._left < 0:
            raise self._error(node, f"more than {MAX_VALUES:,} values, with what aliases stand for")
        if len(above) > _MAX_DEPTH:
            raise self._error(node, _TOO_DEEP)
        if node.id == "mapping":
            self._check_keys(node)
            for _, value in node.value:
                self.visit(value, (*above, node))
        elif node.id == "sequence":
            for item in node.value:
                self.visit(item, (*above, node))
        else:
            self._scalar(node)

    def _check_keys(self, node: yaml.MappingNode) -> None:
        seen: dict[Any, yaml.Node] = {}
        for key, _ in node.value:
            if key.tag == _MERGE:
                continue
            if key.id != "scalar":
                raise self._error(key, "a list or mapping cannot be a key")
            value = self._scalar(key)
            # As YAML and as JSON compare them: `no` and `off` are false, 1 is `true` and "1".
            for form in (value, value if isinstance(value, str) else json.dumps(value)):
                first = seen.setdefault(form, key)
                if first is not key:
                    line = first.start_mark.line + 1
                    raise self._error(
                        key, f"key '{key.value}' is '{first.value}' of line {line} again; keep one"
                    )

    def _scalar(self, node: yaml.Node) -> Any:
        try:
            value = self._loader.construct_object(node)
        except (ValueError, LookupError, AttributeError):  # such as `!!int x`, or a 13th month
            raise self._error(node, f"{node.value[:_SHOWN]!a} cannot be read") from None
        if value is None or isinstance(value, bool | int | float | str):
            return value
        raise self._error(node, f"{node.value!a} is no value of a config; put it in quotes")

    def _error(self, node: yaml.Node, problem: str) -> InputError:
        return InputError(f"{self._where}:{node.start_mark.line + 1}: {problem}")


def parse_json(text: str, where: str) -> Any:
    """Parse JSON."""
    try:
        value = json.loads(text, object_pairs_hook=_without_repeats)
        if "\\ud" in text.lower():
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise InputError(f"{where}: nested too deeply") from None
    except UnicodeEncodeError:
        raise InputError(f"{where}: holds half of a surrogate pair (\\ud800 to \\udfff)") from None
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    except ValueError as error:
        raise InputError(f"{where}: not valid JSON ({error})") from None
    return value


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    items = dict(pairs)
    if len(items) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise InputError(f"the key '{twice}' is there twice; keep one")
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
    lines = isinstance(value, str) and where.startswith(_OF_LINES)
    shown = value.replace("\n", " ") if lines else value
    if isinstance(value, str) and (unfit := UNSAFE.search(shown)):
        raise InputError(f"{place}{value[:_SHOWN]!a} holds the character {unfit[0]!a}; remove it")
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise InputError(f"{place}{value!a} is no value of a config; put it in quotes")
