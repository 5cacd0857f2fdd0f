"""Descriptions of everything registered, for the command line and the docs."""

from __future__ import annotations

import json
from typing import Any, Literal

from exparity.artefacts.analyses import ANALYSES
from exparity.core.escaping import say
from exparity.core.registry import Registry
from exparity.core.validation import defaults_of
from exparity.counterfactuals import GENERATORS
from exparity.data import DATASETS
from exparity.debiasing import INTERVENTIONS
from exparity.methods import METHODS
from exparity.metrics import METRICS
from exparity.metrics.facts import ARROWS
from exparity.models.catalogue import describe_models
from exparity.models.heads import HEADS

UNASKED = " (in every run; no entry of a config)"
"""Mark of an analysis that a run makes unasked, and that ``analyses`` cannot name."""


def print_catalogue(
    kind: Literal[
        "datasets",
        "methods",
        "metrics",
        "analyses",
        "counterfactuals",
        "interventions",
        "heads",
        "models",
    ]
    | None = None,
    /,
) -> None:
    """List datasets, methods, metrics, analyses, counterfactuals, interventions, heads and models.

    Args:
        kind: what to list; everything if None.
    """
    parts: dict[str, Registry[Any]] = {
        "datasets": DATASETS,
        "methods": METHODS,
        "metrics": METRICS,
        "analyses": ANALYSES,
        "counterfactuals": GENERATORS,
        "interventions": INTERVENTIONS,
        "heads": HEADS,
    }
    chosen = [kind] if kind else [*parts, "models"]
    sections = [
        describe_models() if name == "models" else _section(name, parts[name]) for name in chosen
    ]
    say("\n\n".join(sections))


def _section(name: str, registry: Registry[Any]) -> str:
    lines = [name]
    for entry in map(registry.get, registry.ids()):
        direction = getattr(entry.facts, "direction", None)
        mark = f" {ARROWS[direction]}" if direction else ""
        mark += UNASKED if getattr(entry.facts, "always", False) else ""
        lines.append(f"  {entry.id}{mark}")
        lines.append(f"      {entry.summary}.")
        for fact in ("reference", "terms", "licence"):
            if text := getattr(entry.facts, fact, None):
                lines.append(f"      {'licence ' * (fact == 'licence')}{text}")
        options = sorted(defaults_of(registry.options(entry)).items())
        if defaults := [f"{key}={json.dumps(value)}" for key, value in options]:
            lines.append(f"      options: {', '.join(defaults)}")
    return "\n".join(lines)
