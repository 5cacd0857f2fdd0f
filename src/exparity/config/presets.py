"""Presets: partial configs that fill in what a config does not set itself.

``study: text`` follows the text of the published study and ``study: code`` its public code, where
the two differ; ``study: gecobench`` asks the model as often as that benchmark does, and ``study:
ferret`` has the options of that library. A preset names registered ids, so that it reaches an
instance whatever its own name.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from exparity.core.strict import read_yaml
from exparity.resources import resource


@cache
def preset(name: str) -> Mapping[str, Any]:
    """Return a preset: blocks of a config, in which ids are registered ones."""
    path = resource("presets") / f"{name}.yaml"
    return read_yaml(path) if path.is_file() else {}


def with_preset(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return an unchecked config with the settings of its preset, but those of training."""
    chosen = preset(str(config.get("study")))
    if not chosen:
        return dict(config)
    filled = {"explains": chosen["explains"], **config}
    for block in ("methods", "metrics"):
        if isinstance(entries := config.get(block), Mapping):
            known = chosen.get(block, {})
            filled[block] = {id: _entry(id, own, known) for id, own in entries.items()}
    if isinstance(own := config.get("statistics", {}), Mapping):
        filled["statistics"] = {**chosen.get("statistics", {}), **own}
    return filled


def _entry(id: str, own: Any, known: Mapping[str, Any]) -> Any:
    if not isinstance(own, Mapping | None):
        return own
    own = own or {}
    use = own.get("use", known.get(id, {}).get("use", id))
    return {**known.get(str(use), {}), **own, "use": use}


def matches(match: Mapping[str, Any], cell: Mapping[str, Any]) -> bool:
    """Return whether a cell has the ids that an override names; a list names several."""
    return all(
        key in cell and cell[key] in (wanted if isinstance(wanted, list) else [wanted])
        for key, wanted in match.items()
    )


def training_of_preset(study: str, dataset: str, model: str | None) -> list[Mapping[str, Any]]:
    """Return the training settings of a preset, from general to special, by registered ids."""
    chosen = preset(study)
    ids = {"dataset": dataset, "model": model}
    overrides = [one for one in chosen.get("overrides", ()) if matches(one["match"], ids)]
    return [chosen.get("training", {}), *(one["training"] for one in overrides)]
