"""What transformers knows of architectures, read from its source without importing it.

The import brings torch and takes seconds, which a plan must not wait for. What the source does not
tell is left for the job to find, which builds the model.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from exparity.core.errors import InputError, did_you_mean

_USUAL = ("bert", "roberta", "gpt2", "ola", "distilbert", "electra")
_CLASSIFIERS = "AutoModelForSequenceClassification"
_BASES = ("PreTrainedConfig", "PretrainedConfig")
_EQUAL_HEADS = frozenset(
    (
        *("albert", "bert", "big_bird", "biogpt", "bloom", "camembert", "canine", "data2vec-text"),
        *("deberta", "deberta-v2", "distilbert", "electra", "ernie", "flaubert", "gpt2"),
        *("gpt_bigcode", "gpt_neox", "gptj", "ibert", "llama", "longformer", "megatron-bert"),
        *("modernbert", "modernbert-decoder", "mpnet", "mra", "nystromformer", "opt"),
        *("persimmon", "rembert", "roberta", "roberta-prelayernorm", "roc_bert", "roformer"),
        *("stablelm", "xlm", "xlm-roberta", "xlm-roberta-xl", "xmod", "yoso"),
    )
)
"""Architectures whose heads share the hidden size equally."""
SETTLED = {
    **dict.fromkeys(
        ("num_labels", "id2label", "label2id", "problem_type"), "the classes of the data settle it"
    ),
    **dict.fromkeys(
        [f"{name}_token_id" for name in ("pad", "bos", "eos", "cls", "sep")],
        "the tokenizer settles it",
    ),
    "vocab_size": "the tokenizer settles it; write vocab_size beside size",
}
"""Entries of a configuration that are overwritten, and why."""


def check_architecture(
    architecture: str, size: Mapping[str, Any], *, lent: bool = False, auto: str = _CLASSIFIERS
) -> None:
    """Refuse a model from scratch that cannot be built, as far as transformers' source tells."""
    known = _known(auto)
    if known and architecture not in known:
        raise InputError(
            f"unknown architecture '{architecture}'; {did_you_mean(architecture, _USUAL)}"
        )
    for key in size:
        if key in SETTLED:
            raise InputError(f"size: '{key}' has no effect: {SETTLED[key]}")
    source = _source(architecture)
    if source is None:
        return
    for key in size:
        if key not in source.words:
            hint = did_you_mean(key, source.defaults)
            raise InputError(f"size: '{architecture}' has no setting '{key}'; {hint}")
    if architecture in _EQUAL_HEADS:
        own = {source.names.get(key, key): value for key, value in size.items()}
        _check_heads(architecture, own if lent else source.defaults | own, source.names)


def _check_heads(architecture: str, size: Mapping[str, Any], names: Mapping[str, str]) -> None:
    width, heads = (names.get(name, name) for name in ("hidden_size", "num_attention_heads"))
    wide, many = size.get(width), size.get(heads)
    if isinstance(wide, int) and isinstance(many, int) and many > 0 and wide % many:
        raise InputError(
            f"cannot build a '{architecture}' classifier: {width} {wide} is not a multiple of "
            f"{heads} {many}"
        )


@dataclass(frozen=True)
class _Source:
    """What the source of a configuration tells."""

    defaults: dict[str, Any]  # entries with their defaults; None where these are no constants
    names: Mapping[str, str]  # further names of entries, with those that they stand for
    words: frozenset[str]  # all names in it, those of entries among them


@cache
def _known(auto: str) -> frozenset[str]:
    """Return the architectures that an Auto class builds; empty where the source does not tell."""
    source = _text("models/auto/modeling_auto.py")
    table = re.search(rf"^class {auto}\(.*\):\s+_model_mapping = (\w+)", source, re.MULTILINE)
    entries = table and re.search(rf"(?ms)^{table[1]}_NAMES\b.*?^\)", source)
    names = re.findall(r'\(\s*"([^"]+)"', entries[0]) if entries else []
    ours = ["ola"] if auto == _CLASSIFIERS else []
    return frozenset([*names, *ours]) if names else frozenset()


@cache
def _source(architecture: str) -> _Source | None:
    """Return what the source of an architecture's configuration tells; None if nothing sure."""
    base = _class(_text("configuration_utils.py"), lambda node: node.name in _BASES)
    for text in _texts(architecture):
        own = _class(text, lambda node: _value(node, "model_type") == architecture)
        if own and base and all(ast.unparse(one).endswith(_BASES) for one in own.bases):
            names = _value(own, "attribute_map") or {}
            words = _words(own) | _entries(base).keys() | _words(base, "self.")
            return _Source(_entries(base) | _entries(own), names, frozenset(words))
    return None


@cache
def has_rms_norm(architecture: str) -> bool:
    """Return whether the source of an architecture's model names an RMSNorm."""
    name = architecture.replace("-", "_").removesuffix("_text")
    return "RMSNorm(" in _text(f"models/{name}/modeling_{name}.py")


def _texts(architecture: str) -> Iterator[str]:
    """Yield the texts of files in which an architecture's configuration may be."""
    if architecture == "ola":
        yield Path(__file__).with_name("ola.py").read_text(encoding="utf-8")
        return
    name = architecture.replace("-", "_")
    yield _text(f"models/{name}/configuration_{name}.py")
    for path in sorted(_package().glob(f"models/*/configuration_{name}.py")):
        yield path.read_text(encoding="utf-8")


def _package() -> Path:
    spec = find_spec("transformers")
    return Path(*(spec.submodule_search_locations if spec else None) or ["."])


def _text(file: str) -> str:
    path = _package() / file
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _class(text: str, is_wanted: Callable[[ast.ClassDef], bool]) -> ast.ClassDef | None:
    classes = (node for node in ast.parse(text).body if isinstance(node, ast.ClassDef))
    return next(filter(is_wanted, classes), None)


def _entries(node: ast.ClassDef) -> dict[str, Any]:
    """Return the annotated entries of a class, and the arguments of its constructor."""
    entries = {
        item.target.id: _constant(item.value)
        for item in node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    }
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and item.name == "__init__":
            arguments = item.args.args[1:]
            values = [None] * len(arguments) + list(map(_constant, item.args.defaults))
            entries |= zip((a.arg for a in arguments), values[-len(arguments) :], strict=True)
    return entries


def _words(node: ast.ClassDef, before: str = "") -> set[str]:
    """Return the names in the code of a class, or those that stand after something."""
    code = "\n".join(map(ast.unparse, node.body[ast.get_docstring(node) is not None :]))
    return set(re.findall(rf"\b{re.escape(before)}(\w+)", code))


def _value(node: ast.ClassDef, name: str) -> Any:
    """Return the constant that a class assigns to a name; None if it assigns none."""
    for item in node.body:
        if isinstance(item, ast.Assign) and ast.unparse(item.targets[0]) == name:
            return _constant(item.value)
    return None


def _constant(node: ast.expr | None) -> Any:
    try:
        return ast.literal_eval(node) if node is not None else None
    except ValueError:
        return None
