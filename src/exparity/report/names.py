"""Display names of datasets, models, methods and metrics."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from typing import Any

from exparity.core.escaping import visible
from exparity.core.registry import Registry
from exparity.data import DATASETS
from exparity.methods import METHODS
from exparity.metrics import METRICS
from exparity.metrics.facts import ARROWS

Names = Callable[[str, str], str]
"""(kind, id) to the name that a reader sees; kinds are dataset, model, method and metric."""
REGISTRIES: Mapping[str, Registry[Any]] = {
    "dataset": DATASETS,
    "method": METHODS,
    "metric": METRICS,
}


def display_name(kind: str, use: str, instance: str) -> str:
    """Return the name of a registered dataset, method or metric.

    A table of the user's own has none, and is known by the id of its instance.
    """
    entry = REGISTRIES[kind].get(use)
    return entry.facts.display or instance if kind == "dataset" else entry.display


def registered_name(kind: str, name: str) -> str:
    """Return the registered name of an id, or the id itself where nothing is registered by it."""
    if kind not in REGISTRIES or name not in REGISTRIES[kind].ids():
        return visible(name)
    shown = visible(display_name(kind, name, name))
    return f"{shown} {ARROWS[METRICS.get(name).facts.direction]}" if kind == "metric" else shown


def fitted(text: str, width: int) -> str:
    """Return a name broken into lines of about ``width`` characters, ids at their underscores."""
    breakable = text.replace(" × ", " ×\u00a0").replace("_", "_ ")
    for arrow in ARROWS.values():
        breakable = breakable.replace(f" {arrow}", f"\u00a0{arrow}")
    return "\n".join(textwrap.wrap(breakable, width, break_long_words=False)).replace("_ ", "_")
