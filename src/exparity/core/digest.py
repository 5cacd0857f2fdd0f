"""Digests of source code: what makes Snakemake run again exactly the work that a change touches."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).parents[1]
# Parsing the source would take four times as long.
_IMPORT = re.compile(
    r"^[ \t]*(?:from (exparity\.[.\w]+) import (\([^)]*\)|.*)|import (exparity\.[.\w]+))",
    re.MULTILINE,
)
_NAME = re.compile(r"(\w+)(?: as (\w+))?")
_SHIPPED = re.compile(rb'\bshipped\("([^"]+)"\)')
_resolved = cache(Path.resolve)


@cache
def _module_file(dotted: str, root: Path) -> Path | None:
    """Return the resolved file of an ``exparity`` module by its dotted name, if it has one."""
    parts = dotted.split(".")[1:]
    place = root.joinpath(*parts)
    candidates = (place.with_suffix(".py"), place / "__init__.py") if parts else ()
    return next((file.resolve() for file in candidates if file.is_file()), None)


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")


@cache
def _imports(source: str) -> tuple[tuple[str, str, str], ...]:
    """Return the modules that a source imports, each with a name there and the name here."""
    imports = []
    for source_module, names, module in _IMPORT.findall(source):
        named = _NAME.findall(re.sub("#.*", "", names))
        for name, name_here in named or [("", "")]:
            imports.append((source_module or module, name, name_here or name))
    return tuple(imports)


@cache
def _imported(file: Path, root: Path) -> tuple[Path, ...]:
    """Return the files of ``exparity`` that a file imports; a hundred closures ask for them."""
    parts = ((module, f"{module}.{name}") for module, name, _ in _imports(_text(file)))
    files = (_definition(dotted, root) for both in parts for dotted in both)
    return tuple(dict.fromkeys(file for file in files if file is not None))


@cache
def _definition(dotted: str, root: Path) -> Path | None:
    """Return the file of a module, or of what a package's ``__init__`` takes from one."""
    file = _module_file(dotted, root)
    if file is not None and file.stem != "__init__":
        return file
    package, _, name = dotted.rpartition(".")
    init = _module_file(package, root)
    module = _origins(init).get(name) if init is not None else None
    return _module_file(module, root) if module else None


@cache
def _origins(file: Path) -> dict[str, str]:
    """Return the module that each name of a file is first imported from."""
    return {name_here: module for module, _, name_here in reversed(_imports(_text(file)))}


def _closure(paths: Iterable[Path], follows: Callable[[Path], bool]) -> set[Path]:
    """Return files and those that they import, directly or through others, of those to follow."""
    seen: set[Path] = set()
    queue = [_resolved(path) for path in paths]
    while queue:
        path = queue.pop()
        if path not in seen:
            seen.add(path)
            if path.suffix == ".py":
                queue += filter(follows, _imported(path, _ROOT))
    return seen


@cache
def reached(path: Path, package: str) -> tuple[Path, ...]:
    """Return a file and the modules of a subpackage that it imports, directly or through them."""
    inside = f"{(_ROOT / package).resolve()}{os.sep}"
    return tuple(sorted(_closure([path], lambda file: str(file).startswith(inside))))


@cache
def source_digest(*paths: Path) -> str:
    """Return 16 hexadecimal digits for implementing files and the private helpers that they share.

    Every ``_private`` exparity module counts that a file imports, directly, through another such
    module, or from a package that offers what it defines. Public modules (engine, artefacts) do
    not: they have tests of their own, and a change in them must not throw away days of work. Every
    resource counts that one of these files reads by ``shipped("...")``.
    """
    files = _closure(paths, lambda file: file.stem.startswith("_") and file.stem != "__init__")
    content = {file: file.read_bytes() for file in files}
    for name in sorted({name for source in content.values() for name in _SHIPPED.findall(source)}):
        file = _ROOT / "resources" / name.decode()
        if file.is_file():
            content[file] = file.read_bytes()
    digest = hashlib.sha256()
    for path in sorted(content, key=lambda p: (p.name, content[p])):
        digest.update(path.name.encode() + b"\0" + content[path] + b"\0")
    return digest.hexdigest()[:16]
