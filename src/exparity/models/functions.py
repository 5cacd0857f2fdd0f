"""Functions of texts that classify: their names in a config, and folders that refer to one."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from exparity.artefacts.lineage import sha256_of
from exparity.core.errors import InputError
from exparity.core.registry import Entry, Registry, load_module
from exparity.models.manifest import read_record, write_record
from exparity.models.spec import ModelSpec

_FILE = "function.json"


class Function(NamedTuple):
    """The function that a checkpoint's folder refers to.

    Attributes:
        predict: ``module:function``, or ``file.py:function``.
        classes: names of the classes, in the order of its columns.
        mask: replacement of a masked word; None if words are left out.
        digest: of the file of its module.
    """

    predict: str
    classes: list[str]
    mask: str | None
    digest: str


def load_function(name: str) -> Callable[..., object]:
    """Import a function by ``module:function`` or ``file.py:function``."""
    source_of(name)
    module, _, attribute = name.rpartition(":")
    value: object = load_module(module, "predict")
    for part in attribute.split("."):
        value = getattr(value, part, None)
    if not callable(value):
        raise InputError(f"predict: there is no function '{attribute}' in {module}")
    function: Callable[..., object] = value
    return function


def source_of(name: str) -> Path:
    """Return the file of a function's module, which is not imported for it."""
    module, _, attribute = name.rpartition(":")
    if not module or not attribute:
        raise InputError(f"predict: '{name}' names no function; write module:function")
    if module.endswith(".py"):
        path = Path(module)
    else:
        here = str(Path.cwd())
        if here not in sys.path:
            sys.path.append(here)  # last: a file there hides no module
        try:
            spec = importlib.util.find_spec(module)
        except (ImportError, ValueError):
            spec = None
        if spec is None:
            raise InputError(f"predict: there is no module '{module}' in Python's path or {here}")
        path = Path(spec.origin or "")
    if not path.is_file():
        raise InputError(f"predict: there is no file {path.absolute()}")
    return path


def write_function(folder: Path, spec: ModelSpec) -> None:
    """Write a reference to the function of a spec into a folder."""
    assert spec.predict is not None
    digest = sha256_of(source_of(spec.predict))
    function = Function(spec.predict, list(spec.classes), spec.mask, digest)
    write_record(folder, _FILE, function._asdict())


def read_function(folder: Path) -> Function | None:
    """Return the function that a folder refers to; None if it holds a model."""
    function = read_record(folder, _FILE, Function)
    if function is not None and sha256_of(source_of(function.predict)) != function.digest:
        raise InputError(
            f"checkpoint {folder}: refers to {function.predict}, whose file has changed since; run "
            "again"
        )
    return function


MUST_WRITE = "has the model write, which only a prompted language model (head: label_words) can"
"""Reason why a classifier that cannot write is refused."""


def refusal(entry: Entry[Any], registry: Registry[Any]) -> str:
    """Return the message that a method or metric does not support functions, and which ones do."""
    ids = [name for name in registry.ids() if registry.get(name).facts.asks_only]
    reason = "needs the gradients or weights of a model, and the classifier is a function of texts"
    if getattr(entry.facts, "writes", False):
        reason = MUST_WRITE
    return f"{registry.kind} {entry.id}: {reason}; take {', '.join(ids[:-1])} or {ids[-1]}"
