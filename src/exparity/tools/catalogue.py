"""Descriptions of everything registered, for the command line and the docs."""

from __future__ import annotations

import json
from typing import Any, Literal

from exparity.core.escaping import say
from exparity.core.options import Option
from exparity.core.registry import Entry, Registry
from exparity.counterfactuals import GENERATORS
from exparity.data import DATASETS
from exparity.debiasing import INTERVENTIONS
from exparity.interface import ARROWS
from exparity.methods import METHODS
from exparity.metrics import METRICS, metric_options
from exparity.models.catalogue import describe_models


def print_catalogue(
    kind: Literal["datasets", "methods", "metrics", "counterfactuals", "interventions", "models"]
    | None = None,
    /,
) -> None:
    """List datasets, methods, metrics, models, and what intervenes in their training.

    Args:
        kind: all if None.
    """
    say(describe(kind))


def describe(kind: str | None = None) -> str:
    """Return a plain-text catalogue.

    Args:
        kind: ``datasets``, ``methods``, ``metrics``, ``counterfactuals``, ``interventions`` or
            ``models``; all that there are if None.
    """
    parts: dict[str, Registry[Any]] = {
        "datasets": DATASETS,
        "methods": METHODS,
        "metrics": METRICS,
        "counterfactuals": GENERATORS,
        "interventions": INTERVENTIONS,
    }
    chosen = [kind] if kind else [*(name for name, part in parts.items() if part.ids()), "models"]
    return "\n\n".join(
        describe_models() if name == "models" else _section(name, parts[name]) for name in chosen
    )


def _section(name: str, registry: Registry[Any]) -> str:
    lines = [name]
    for id in registry.ids():
        entry = registry.get(id)
        lines.append(f"  {id}{_marks(entry)}")
        lines.append(f"      {entry.summary}.")
        lines.append(f"      {entry.facts.reference}")
        options = options_text(metric_options(entry) if name == "metrics" else entry.options)
        if options:
            lines.append(f"      options: {options}")
    return "\n".join(lines)


def _marks(entry: Entry[Any]) -> str:
    direction = getattr(entry.facts, "direction", None)
    return f" {ARROWS[direction]}" if direction else ""


def options_text(options: dict[str, Option]) -> str:
    """Return options with their defaults, as a config would write them."""
    return ", ".join(f"{name}={json.dumps(o.default)}" for name, o in sorted(options.items()))
