"""Data that exparity brings: a dataset of its own, and published results to compare with."""

from __future__ import annotations

from pathlib import Path


def resource(name: str) -> Path:
    """Return the path of a file or folder below ``resources/``."""
    return Path(__file__).parent / name
