"""Resources beside code: a dataset, published results to compare with, the workflow."""

from __future__ import annotations

from pathlib import Path


def resource(name: str) -> Path:
    """Return the path of a file or folder below ``resources/``."""
    return Path(__file__).parent / name


def shipped(name: str) -> Path:
    """Return the path of a resource that counts for the digest of the source that reads it.

    Name it by a literal, as ``core/digest.py`` looks for one: a change of the words of a dataset
    then runs again what was made from them.
    """
    return resource(name)


def workflow_file(name: str) -> Path:
    """Return the path of a file of the workflow, such as ``Snakefile``.

    ``exparity/workflow`` is a link to the checkout's folder, and a copy of it where exparity was
    installed from a wheel.
    """
    return (Path(__file__).parents[1] / "workflow" / name).resolve()
