"""Digests of the code that each stage computes with: its file, and what it imports of ``stats``."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from exparity.core.digest import reached, source_digest

_PACKAGE = Path(__file__).resolve().parents[1]


def sources(package: str) -> list[Path]:
    """Return the source files of a subpackage: modules and parts of pages, nothing compiled."""
    files = (_PACKAGE / package).glob("**/*")
    return sorted(path for path in files if path.suffix in (".py", ".j2", ".css", ".js"))


@cache
def finetune() -> str:
    """Return the digest of what trains."""
    names = ("training", "scratch", "checkpoints", "schemes", "ola")
    files = [_PACKAGE / "models" / f"{name}.py" for name in names]
    return source_digest(_PACKAGE / "data" / "training_set.py", *files)


@cache
def test() -> str:
    """Return the digest of what compares groups."""
    return _stage("test")


@cache
def bias() -> str:
    """Return the digest of what measures a classifier's own bias."""
    return _stage("bias")


@cache
def control() -> str:
    """Return the digest of the permutation control."""
    return _stage("control")


@cache
def analysis(name: str) -> str:
    """Return the digest of an analysis, by its name."""
    return _stage(name)


@cache
def report() -> str:
    """Return the digest of what writes the report."""
    pages = [*sources("report"), _PACKAGE / "stages" / "report.py"]
    code = {file for path in pages if path.suffix == ".py" for file in reached(path, "stats")}
    return source_digest(*pages, *sorted(code - set(pages)))


@cache
def cost() -> str:
    """Return the digest of what gathers the costs of jobs."""
    return source_digest(*sources("costs"), _PACKAGE / "tools" / "cost.py")


def _stage(name: str) -> str:
    return source_digest(*reached(_PACKAGE / "stages" / f"{name}.py", "stats"))
