"""Digests of the code of stages: their files, and what these import of ``stats``."""

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
def finetune(head: Path) -> str:
    """Return the digest of the code that trains."""
    names = "training loop encoders scratch checkpoints schemes ola heads/__init__ lora"
    files = [_PACKAGE / "models" / f"{name}.py" for name in names.split()]
    return source_digest(_PACKAGE / "data" / "training_set.py", head, *files)


@cache
def analysis(source: Path) -> str:
    """Return the digest of an analysis: its private modules, what these compare, and ``stats``."""
    folder = sorted(source.parent.glob("_[!_]*.py")) if source.name == "__init__.py" else ()
    compared = {file for path in (source, *folder) for file in reached(path, "quantities")}
    return source_digest(*{file for path in compared for file in reached(path, "stats")})


@cache
def report(analyses: tuple[Path, ...] = ()) -> str:
    """Return the digest of the code that writes the report."""
    files = [*sources("report"), _PACKAGE / "stages" / "report.py"]
    pages = [*files, *(part for source in analyses for part in _beside(source))]
    code = {file for path in pages if path.suffix == ".py" for file in reached(path, "stats")}
    return source_digest(*pages, *sorted(code - set(pages)))


def _beside(source: Path) -> list[Path]:
    """Return the source files of an analysis: its folder, or a file and its template."""
    if source.name == "__init__.py":
        return [path for path in sorted(source.parent.iterdir()) if path.is_file()]
    return [source, *sorted(source.parent.glob(f"{source.stem}*.j2"))]


@cache
def cost() -> str:
    """Return the digest of the code that gathers the costs of jobs."""
    return source_digest(*sources("costs"), _PACKAGE / "tools" / "cost.py")
