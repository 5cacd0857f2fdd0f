"""Write what the code knows: tables of the docs, and the JSON schema of the config for editors.

A page holds them between ``<!-- reference: NAME -->`` and ``<!-- end -->``. NAME is ``config``
and a path in the config, ``methods``, ``metrics``, ``method`` or ``metric`` and an
id, ``presets`` and their names, ``runs`` for the configs in ``config/``, or ``api`` and the path of
a function, a class, or a package with ``__all__``. Run by `make reference`; with ``--check``
nothing is written, and old tables are an error. With ``--api PATH`` the site's page of the Python
API is written there, and nothing else.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import yaml

from exparity.config.experiment import Experiment
from exparity.config.models import Config
from exparity.config.presets import preset
from exparity.core.settings import Statistics
from exparity.core.strict import read_yaml
from exparity.core.validation import Settings, defaults_of, documented
from exparity.costs.planned import n_jobs
from exparity.explanations.units import unit_options
from exparity.methods import METHODS
from exparity.metrics import METRICS, message_options, token_options, word_options
from exparity.metrics.facts import ARROWS
from exparity.models.spec import TrainingSpec

ROOT = Path(__file__).parents[1]
CONFIGS = ROOT / "config"
PAGES = (
    *(ROOT / "docs" / f"{name}.md" for name in ("configuration", "methods", "metrics", "presets")),
    CONFIGS / "README.md",
)
API = Path(__file__).with_name("api.md")
"""Headings and order of the page of the Python API, which is no file of the repository."""
SCHEMA = ROOT / "workflow" / "schemas" / "config.schema.yaml"
_BLOCK = re.compile(r"(<!-- reference: (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
_MACHINE = re.compile(r"^# Machine: (.+)\.$", re.MULTILINE)
"""Line of a config that names the machine that it is for, and the time that it took there."""
_SECTION = re.compile(r"^(Args|Attributes|Returns|Yields|Raises|Examples):\n", re.MULTILINE)
_AS_WRITTEN = ("Args", "Attributes", "Examples")
"""Sections whose lines matter."""
_RUNS = {"probabilities": "yes", "explainer": "yes, and the method"}
_TYPES = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "object": "a mapping",
    "string": "text",
}
_ENDS = {
    "minimum": "at least",
    "exclusiveMinimum": "above",
    "maximum": "at most",
    "exclusiveMaximum": "below",
}
_MAX_INTEGER = (1 << 63) - 1
_LONGEST = 90  # characters of a list of choices that a cell of a table has room for


def main() -> None:
    """Write the files, or compare."""
    if "--api" in sys.argv:
        page = Path(sys.argv[sys.argv.index("--api") + 1])
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(with_tables(API.read_text(encoding="utf-8")), encoding="utf-8")
        return
    written = {page: with_tables(page.read_text(encoding="utf-8")) for page in PAGES}
    written[SCHEMA] = schema_file()
    old = [path for path, text in written.items() if path.read_text(encoding="utf-8") != text]
    if old and "--check" in sys.argv:
        names = ", ".join(path.name for path in old)
        sys.exit(f"{names}: not what the code says; run `make reference`")
    for path in old:
        path.write_text(written[path], encoding="utf-8")


def schema_file() -> str:
    """Return the JSON schema of the config, which editors complete keys by."""
    title, description, *_ = (inspect.getdoc(Config) or "").split("\n\n")
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title.rstrip("."),
        "description": " ".join(description.split()),
        **schema_of(Config),
    }
    text = yaml.dump(schema, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=100)
    return f"# Written by `make reference` from src/exparity/config/models.py.\n{text}"


def schema_of(kind: type[Settings]) -> dict[str, Any]:
    """Return the JSON schema of settings in one piece, each key described."""
    schema = kind.model_json_schema()
    blocks = {block.__name__: block for block in _subclasses(Settings)}

    def in_one_piece(node: Any) -> Any:
        if isinstance(node, list):
            return [in_one_piece(inner) for inner in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            name = node["$ref"].rpartition("/")[2]
            default = {"default": {}} if "default" in node else {}
            return _described_keys(blocks[name], in_one_piece(schema["$defs"][name])) | default
        node = {key: in_one_piece(inner) for key, inner in node.items() if key != "$defs"}
        return _shortened(node)

    return _described_keys(kind, in_one_piece(schema))


def _subclasses(kind: type[Settings]) -> Iterator[type[Settings]]:
    for inner in kind.__subclasses__():
        yield inner
        yield from _subclasses(inner)


def _described_keys(kind: type[Settings], schema: dict[str, Any]) -> dict[str, Any]:
    words = documented(kind)
    for key, part in schema.get("properties", {}).items():
        if meaning := words.get(key, "").replace("``", "`").replace("if None", "if null"):
            description = {"description": f"{meaning[0].upper()}{meaning[1:]}."}
            schema["properties"][key] = description | part
    return {key: part for key, part in schema.items() if key != "description"}


def _shortened(node: dict[str, Any]) -> dict[str, Any]:
    """Return a node without titles, and with a choice of null in one."""
    if isinstance(node.get("title"), str):
        node.pop("title")
    if "patternProperties" in node:
        ((pattern, inner),) = node.pop("patternProperties").items()
        node |= {"propertyNames": {"pattern": pattern}, "additionalProperties": inner}
    if "const" in node:
        node["enum"] = [node.pop("const")]
    if node.get("default", "") is None and {"type": "null"} not in node.get("anyOf", ()):
        node.pop("default")  # which a key that is left out has
    first, *others = node.get("anyOf", [{}])
    if others == [{"type": "null"}] and not {"items", "properties", "anyOf"} & first.keys():
        rest = {key: part for key, part in node.items() if key != "anyOf"}
        if "enum" in first:
            return {"enum": [*first["enum"], None], **rest}
        return {**first, "type": [first["type"], "null"], **rest}
    return node


def allowed(schema: Mapping[str, Any]) -> str:
    """Return what a schema allows, such as ``a whole number from 1 to 9, or null``."""
    words = f"{_kind(schema)} {_range(schema)}".strip()
    return f"{words}, or null" if _takes_null(schema) else words


def _kind(schema: Mapping[str, Any]) -> str:
    """Return the types or the values that a schema allows, null apart."""
    if "enum" in schema:
        values = [value for value in schema["enum"] if value is not None]
        return f"{'one of ' * (len(values) > 1)}{', '.join(map(_literal, values))}"
    if "anyOf" in schema:
        return _listed([_kind(part) for part in schema["anyOf"] if part.get("type") != "null"])
    names = [_TYPES[name] for name in _types(schema) if name != "null"]
    if names == ["a list"] and schema.get("items"):
        return f"a list, each {_kind(schema['items'])} {_range(schema['items'])}".strip()
    return _listed(names) if names else "anything"


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words[:-1]) + " or " * (len(words) > 1) + words[-1]


def _types(schema: Mapping[str, Any]) -> Sequence[str]:
    kinds = schema.get("type", ())
    return (kinds,) if isinstance(kinds, str) else kinds


def _takes_null(schema: Mapping[str, Any]) -> bool:
    if "anyOf" in schema:
        return any(map(_takes_null, schema["anyOf"]))
    return None in schema.get("enum", ()) or "null" in _types(schema)


def _range(schema: Mapping[str, Any]) -> str:
    if schema.get("maximum") == _MAX_INTEGER:
        return f"at least {schema['minimum']}"
    if "minimum" in schema and "maximum" in schema:
        return f"from {schema['minimum']:,} to {schema['maximum']:,}"
    return " and ".join(f"{word} {schema[end]}" for end, word in _ENDS.items() if end in schema)


def _literal(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class _Plain(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


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
    if kind == "presets":
        return _presets(id.split())
    if kind == "runs":
        return _runs()
    if kind == "api":
        return _api(id)
    registry: Any = {"method": METHODS, "metric": METRICS}[kind]
    entry = registry.get(id)
    options = schema_of(registry.options(entry))["properties"]
    options.pop("explains", None)  # a section of its own
    shared = token_options, word_options, message_options, unit_options, entry.function
    meanings = {name: text for function in shared for name, text in documented(function).items()}
    table = _table(
        ("Option", "Values", "Default", "Meaning"),
        (
            (f"`{name}`", _values(part), _default(part["default"]), _prose(meanings[name]))
            for name, part in options.items()
        ),
    )
    returned = _prose(_sections(entry.function)["Returns"])
    gives = f"Returns {returned}\n\n" if kind == "method" else ""
    table = table if options else "No options."
    return f"{gives}{table}\n\nSource: {entry.facts.reference}."


def _sections(item: Any) -> dict[str, str]:
    """Return the parts of a docstring by name, paragraphs apart; what comes first has no name."""
    first, *others = _SECTION.split(inspect.getdoc(item) or "")
    parts = {"": first, **dict(zip(others[::2], others[1::2], strict=True))}
    return {
        name: text.rstrip() if name in _AS_WRITTEN else _paragraphs(text)
        for name, text in parts.items()
    }


def _paragraphs(text: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in text.strip().split("\n\n"))


def _api(path: str) -> str:
    """Return what can be read of a function, of a class and its members, or of a package."""
    if path == "exparity":
        return "\n\n".join(_api(f"exparity.{name}") for name in resolve_name(path).__all__)
    home, _, name = path.rpartition(".")
    item = getattr(resolve_name(home), name)
    parts = [f"### `{path}`", _described(item, name)]
    for member, value in vars(item).items() if isinstance(item, type) else ():
        if member.startswith("_"):
            continue
        value = getattr(value, "__func__", value)
        if isinstance(value, property | cached_property):
            parts.append(f"`.{member}`: {_prose(_paragraphs(inspect.getdoc(value) or ''))}")
        elif inspect.isfunction(value):
            parts.append(_described(value, f"{name}.{member}"))
    return "\n\n".join(parts)


def _described(item: Any, name: str) -> str:
    """Return the signature of a function or class, and its docstring as Markdown."""
    sections = _sections(item)
    parts = [f"```text\n{name}{_signature(item)}\n```", _prose(sections.pop(""))]
    for section, text in sections.items():
        if section in ("Args", "Attributes"):
            rows = re.findall(r"^ {4}(\*{0,2}\w+): (.*(?:\n {8}.*)*)", text, re.MULTILINE)
            head = "Argument" if section == "Args" else "Attribute"
            cells = ((f"`{key}`", _prose(" ".join(told.split()))) for key, told in rows)
            parts.append(_table((head, "Meaning"), cells))
        elif section == "Examples":
            parts.append(f"```python\n{textwrap.dedent(text)}\n```")
        else:
            parts.append(f"{section}: {_prose(text)}")
    return "\n\n".join(parts).replace("if null", "if None")


def _signature(item: Any) -> str:
    """Return a signature without ``self``; one that is long has a line for each argument."""
    text = re.sub(r"(: |-> )'([^']+)'", r"\1\2", str(inspect.signature(item)))
    text = re.sub(r"\((self|cls)(, |(?=\)))", "(", text, count=1)
    text = re.sub(r"<function (\w+) at \w+>", r"\1", text).replace("<factory>", "...")
    if len(text) <= _LONGEST:
        return text
    inner, _, returned = text[1:].rpartition(")")
    arguments = re.sub(r", (?=\*|\*?\w+:|\w+=)", ",\n    ", inner)
    return f"(\n    {arguments},\n){returned}"


def _keys(path: list[str]) -> str:
    """Return the table of a block of the config, without the blocks within it."""
    schema = schema_of(Config)
    for step in path:
        schema = schema["properties"][step] if step != "*" else _entries(schema)
        schema = next((one for one in schema.get("anyOf", ()) if "properties" in one), schema)
    rows = []
    for key, part in schema["properties"].items():
        if "properties" in part or "not" in part:
            continue
        if "description" not in part:
            raise SystemExit(f"config key '{key}': describe it under Attributes of its class")
        default = "required" if key in schema.get("required", ()) else ""
        if "default" in part:
            default = _default(part["default"])
        shown = "ids" if "propertyNames" in part else _values(part)
        rows.append((f"`{key}`", shown, default or "none", _prose(part["description"])))
    return _table(("Key", "Values", "Default", "Meaning"), rows)


def _entries(schema: Mapping[str, Any]) -> Any:
    return schema["items"] if "items" in schema else schema["additionalProperties"]


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


def _presets(names: list[str]) -> str:
    """Return what presets set, beside the defaults; what one leaves to them is an empty cell."""
    rows: dict[str, dict[str, str]] = {}
    for name in names:
        for setting, value, default in _settings(preset(name)):
            of_default = {"default": _default(default)}
            rows.setdefault(setting, of_default)[name] = _default(value)
    columns = [*names, "default"]
    heads = ("Setting", *(f"`{name}`" for name in columns))
    return _table(heads, ((key, *(row.get(c, "") for c in columns)) for key, row in rows.items()))


def _runs() -> str:
    """Return what each config that comes with exparity runs, and on which machine."""
    heads = ("File", "Experiment", "Classifiers × seeds", "Methods × metrics", "Jobs", "Machine")
    rows = []
    for path in sorted(CONFIGS.glob("*.yaml")):
        experiment = Experiment.from_mapping(read_yaml(path))
        machine = _MACHINE.search(path.read_text(encoding="utf-8"))
        if machine is None:
            sys.exit(f"{path}: names no machine; add a line `# Machine: two cores, minutes.`")
        trainings = f"{len(list(experiment.pairs))} × {len(experiment.seeds)}"
        scores = f"{len(experiment.methods)} × {len(experiment.metrics)}"
        rows.append(
            (
                f"[`{path.name}`]({path.name})",
                experiment.config.title,
                trainings,
                scores if experiment.methods else "none",
                f"{n_jobs(experiment):,}",
                re.sub(r"docs/(\w+)\.md", r"[\1](../docs/\1.md)", machine[1]),
            )
        )
    return _table(heads, rows)


def _settings(chosen: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the settings of a preset: the name of each, its value and the default."""
    for block, defaults in (("training", TrainingSpec()), ("statistics", Statistics())):
        for key, value in chosen.get(block, {}).items():
            yield f"`{block}.{key}`", value, getattr(defaults, key)
    for override in chosen.get("overrides", ()):
        ids = ", ".join(f"`{id}`" for of_kind in override["match"].values() for id in of_kind)
        for key, value in override["training"].items():
            yield f"`training.{key}`: {ids}", value, getattr(TrainingSpec(), key)
    registries: tuple[Any, ...] = (METHODS, METRICS)
    for registry in registries:
        for id, options in chosen.get(f"{registry.kind}s", {}).items():
            for key, value in options.items():
                known = defaults_of(registry.options(registry.get(id)))
                yield f"`{id}`: `{key}`", value, id if key == "use" else known[key]


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
