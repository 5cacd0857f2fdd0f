"""transformers' Auto classes, to which exparity's own architectures are known."""

from __future__ import annotations

from typing import Any

import transformers
from transformers import AutoConfig

import exparity.models.ola  # noqa: F401  (makes its model type known)

__all__ = ["AutoConfig", "auto_class"]


def auto_class(name: str) -> Any:
    """Return one of transformers' Auto classes by its name."""
    return getattr(transformers, name)
