"""What figures call things, and how long names are fitted."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

from exparity.core.escaping import visible
from exparity.core.registry import Registry
from exparity.data import DATASETS
from exparity.interface import ARROWS
from exparity.methods import METHODS
from exparity.metrics import METRICS
from exparity.report.gather import Study

Names = Callable[[str, str], str]
"""(kind, id) to the name that a reader sees; kinds are dataset, model, method and metric."""


def names_of(study: Study) -> Names:
    """Return the names that the report's tables use, with an arrow towards better values."""

    def name(kind: str, id: str) -> str:
        if kind == "model":
            return visible(id)
        shown = visible(study.display(kind, id))
        return f"{shown} {ARROWS[study.metric_facts(id).direction]}" if kind == "metric" else shown

    return name


def registered_names(kind: str, id: str) -> str:
    """Return the registered name of an id, or the id itself where nothing is registered by it."""
    registries: dict[str, Registry[Any]] = {
        "dataset": DATASETS, "method": METHODS, "metric": METRICS
    }  # fmt: skip
    if kind not in registries or id not in registries[kind].ids():
        return visible(id)
    entry = registries[kind].get(id)
    if kind == "dataset":
        return visible(entry.facts.display or id)
    direction = getattr(entry.facts, "direction", None)
    shown = visible(entry.display)
    return f"{shown} {ARROWS[direction]}" if direction else shown


def fitted(text: str, width: int) -> str:
    """Return a name broken into lines of about ``width`` characters, ids at their underscores."""
    breakable = text.replace(" × ", " ×\u00a0").replace("_", "_ ")
    for arrow in ARROWS.values():
        breakable = breakable.replace(f" {arrow}", f"\u00a0{arrow}")
    return "\n".join(textwrap.wrap(breakable, width, break_long_words=False)).replace("_ ", "_")


def signed(value: float) -> str:
    """Return a number with its sign and two decimals, with a minus that is one."""
    return f"{value:+.2f}".replace("-", "−").replace("inf", "∞")
