"""Write the tables of the docs that the code knows: keys, options, catalogues.

A page holds them between ``<!-- reference: NAME -->`` and ``<!-- end -->``. NAME is ``config``
and a path in the schema of the config, ``methods``, ``metrics``, or ``method`` or ``metric`` and an
id. Run by `make reference`; with ``--check`` nothing is written, and old tables are an error.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from exparity.config.schema import read_schema
from exparity.core.command_line import documented
from exparity.core.options import Option
from exparity.core.wording import allowed
from exparity.interface import ARROWS
from exparity.methods import METHODS
from exparity.metrics import METRICS, metric_options, token_options, word_options

ROOT = Path(__file__).parents[1]
PAGES = tuple(ROOT / "docs" / f"{name}.md" for name in ("configuration", "methods", "metrics"))
_BLOCK = re.compile(r"(<!-- reference: (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
_RUNS = {"probabilities": "yes", "explainer": "yes, and the method"}
_LONGEST = 90  # characters of a list of choices that a cell of a table has room for


def main() -> None:
    """Write the pages, or compare."""
    old = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if text != (renewed := with_tables(text)):
            old.append(page.name)
            if "--check" not in sys.argv:
                page.write_text(renewed, encoding="utf-8")
    if old and "--check" in sys.argv:
        sys.exit(f"{', '.join(old)}: tables are not those of the code; run `make reference`")


def with_tables(text: str) -> str:
    """Return a page with its tables as the code has them."""
    return _BLOCK.sub(lambda block: f"{block[1]}\n{_made(block[2])}\n\n{block[3]}", text)


def _made(name: str) -> str:
    kind, _, id = name.partition(" ")
    if kind == "config":
        return _keys(id.split(".") if id else [])
    if kind == "methods":
        return _methods()
    if kind == "metrics":
        return _metrics()
    entry = {"method": METHODS, "metric": METRICS}[kind].get(id)
    options = metric_options(entry) if kind == "metric" else entry.options
    meanings = documented(token_options) | documented(word_options) | documented(entry.function)
    table = _table(
        ("Option", "Values", "Default", "Meaning"),
        (_option(option, meanings[name]) for name, option in options.items()),
    )
    gives = f"Returns {_prose(_returned(entry.function))}\n\n" if kind == "method" else ""
    return f"{gives}{table if options else 'No options.'}\n\nSource: {entry.facts.reference}."


def _returned(function: Callable[..., Any]) -> str:
    """Return what a docstring says of the return value."""
    section = (inspect.getdoc(function) or "").partition("\nReturns:\n")[2]
    return " ".join(section.partition("\n\n")[0].split())


def _option(option: Option, meaning: str) -> tuple[str, ...]:
    return f"`{option.name}`", _values(option.schema), _default(option.default), _prose(meaning)


def _keys(path: list[str]) -> str:
    """Return the table of a block of the config, without the blocks within it."""
    root = schema = read_schema(ROOT / "workflow" / "schemas" / "config.schema.yaml")
    for step in path:
        schema = _followed(schema["properties"][step] if step != "*" else _entries(schema), root)
    rows = []
    for key, part in schema["properties"].items():
        if key == "default" or "properties" in _followed(part, root) or "not" in part:
            continue
        default = "required" if key in schema.get("required", ()) else ""
        if "default" in part:
            default = _default(part["default"])
        values = _followed(part, root)
        shown = "ids" if "propertyNames" in values else _values(values)
        rows.append((f"`{key}`", shown, default or "none", _prose(part["description"])))
    return _table(("Key", "Values", "Default", "Meaning"), rows)


def _entries(schema: Mapping[str, Any]) -> Any:
    return schema["items"] if "items" in schema else schema["additionalProperties"]


def _followed(part: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a part of a schema refers to, and the part itself if it refers to nothing."""
    return root["$defs"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part


def _methods() -> str:
    entries = [METHODS.get(id) for id in METHODS.ids()]
    return _table(
        ("id", "explains", "gradient", "signed", "baseline", "random"),
        (
            (
                f"[`{entry.id}`](#{entry.id})",
                {"none": "no output"}.get(entry.facts.target, entry.facts.target),
                _yes(entry.facts.needs_gradient),
                _yes(entry.facts.signed),
                entry.facts.baseline or "none",
                _yes(entry.facts.stochastic),
            )
            for entry in entries
        ),
    )


def _metrics() -> str:
    kinds: dict[str, list[Any]] = {}
    for id in METRICS.ids():
        kinds.setdefault(METRICS.get(id).facts.kind, []).append(METRICS.get(id))
    rows = []
    for kind, entries in kinds.items():
        for entry in entries:
            facts = entry.facts
            low, high = (f"{end:g}".replace("inf", "∞").replace("-", "−") for end in facts.bounds)
            better = f"{ARROWS[facts.direction]} {facts.direction}"
            runs = _RUNS.get(facts.needs, "no")
            link = f"[`{entry.id}`](#{entry.id})"
            rows.append((link, better, f"{low} to {high}", facts.unit, kind, runs))
    return _table(("id", "better", "range", "unit", "property", "runs the model"), rows)


def _values(schema: Mapping[str, Any]) -> str:
    words = re.sub(r"^(an?|one of) ", "", allowed(schema))
    return words if len(words) <= _LONGEST else "see above"


def _default(value: Any) -> str:
    return f"`{value if isinstance(value, str) and value else json.dumps(value)}`"


def _prose(text: str) -> str:
    """Return a docstring's sentence as one cell of Markdown."""
    text = re.sub(r":math:`([^`]+)`", r"$\1$", text)
    text = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", text)
    return text.replace("``", "`").replace("if None", "if null").replace("|", r"\|")


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(heads), *map(list, rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    main()
