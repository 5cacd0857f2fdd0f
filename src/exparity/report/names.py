"""Names in figures, and how long ones are fitted."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

from exparity.core.escaping import visible
from exparity.metrics.facts import ARROWS
from exparity.report.gather import REGISTRIES, Study, display_name

Names = Callable[[str, str], str]
"""(kind, id) to the name that a reader sees; kinds are dataset, model, method and metric."""


def names_of(study: Study) -> Names:
    """Return the names that the report's tables use, with an arrow towards better values."""

    def name(kind: str, id: str) -> str:
        if kind == "model":
            return visible(id)
        own = visible(study.display(kind, id))
        return f"{own} {study.arrow(id)}" if kind == "metric" else own

    return name


def registered_names(kind: str, id: str) -> str:
    """Return the registered name of an id, or the id itself where nothing is registered by it."""
    if kind not in REGISTRIES or id not in REGISTRIES[kind].ids():
        return visible(id)
    name = visible(display_name(kind, id, id))
    if kind != "metric":
        return name
    return f"{name} {ARROWS[REGISTRIES[kind].get(id).facts.direction]}"


def fitted(text: str, width: int) -> str:
    """Return a name broken into lines of about ``width`` characters, ids at their underscores."""
    breakable = text.replace(" × ", " ×\u00a0").replace("_", "_ ")
    for arrow in ARROWS.values():
        breakable = breakable.replace(f" {arrow}", f"\u00a0{arrow}")
    return "\n".join(textwrap.wrap(breakable, width, break_long_words=False)).replace("_ ", "_")
